"""The table of saved tensors against the installed PyTorch: backward twice, and see whether the second one fails.

An entry is tried in the forms that EXPRESSIONS lists for it, or else in the first generic form that each function of
that name accepts. What neither can build stands in UNBUILT, so that no entry goes unchecked in silence.
"""

from __future__ import annotations

import functools
import itertools
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from adlint import catalog

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.runtime

nn = torch.nn
PROFILE = catalog.load().profiles["torch"]
SAVES = PROFILE._saves

# Names in an expression: t, u, w are (3, 3) and track; c, d are constants; v is a row of t; image is (2, 4, 6, 6) and
# tracks; line (2, 4, 8) and volume (1, 4, 4, 4, 4) too; plain is an image that does not; index and mask select rows.
EXPRESSIONS = {
    "+": ("t + 1", "t + u", "c + t", "sum([t, u])"),
    "-": ("t - 1", "1 - t", "t - u"),
    "*": ("t * 1", "2 * t", "t * c", "t * u"),
    "/": ("t / 1", "t / c", "2 / t", "t / u"),
    "**": ("t ** 2", "2 ** t", "t ** u", "t ** 1"),
    "@": ("t @ c", "c @ t", "t @ u"),
    "%": ("t % 2", "t % u"),
    "neg": ("-t",),
    "pos": ("+t",),
    "abs": ("abs(t)", "t.abs()"),
    "[]": ("t[0]", "t[0, 1]", "t[1:3]", "t[:, ::2]", "t[..., -1]", "t[None]", "t[torch.tensor(0)]"),
    "[mask]": ("t[c > 0.5]", "t[index]", "t[[0, 2]]", "t[:, index]", "t[True]", "t[range(2)]"),
    "[]=": ("put(t, 0, 5.0)", "put(t, index, 0.0)", "put(t, c > 0.5, 0.0)", "put(c.clone(), 0, v)"),
    # conditional: one form each way
    "adaptive_avg_pool1d": ("F.adaptive_avg_pool1d(line, 3)", "F.adaptive_avg_pool1d(line, 1)"),
    "adaptive_avg_pool2d": ("F.adaptive_avg_pool2d(image, 2)", "F.adaptive_avg_pool2d(image, 1)"),
    "adaptive_avg_pool3d": ("F.adaptive_avg_pool3d(volume, 2)", "F.adaptive_avg_pool3d(volume, 1)"),
    "addbmm": ("torch.addbmm(t, c[None], d[None])", "torch.addbmm(c, t[None], d[None])"),
    "addcmul": ("torch.addcmul(t, c, d)", "torch.addcmul(c, t, d)"),
    "addmm": ("torch.addmm(t, c, d)", "torch.addmm(c, t, d)"),
    "addmv": ("torch.addmv(v, c, d[0])", "torch.addmv(d[0], t, c[0])"),
    "addr": ("torch.addr(t, c[0], d[0])", "torch.addr(c, v, d[0])"),
    "baddbmm": ("torch.baddbmm(t[None], c[None], d[None])", "torch.baddbmm(c[None], t[None], d[None])"),
    "alpha_dropout": ("F.alpha_dropout(t, 0.5, True)", "F.alpha_dropout(t, 0.5, False)"),
    "dropout": ("F.dropout(t, 0.5, True)", "F.dropout(t, 0.5, False)"),
    "dropout1d": ("F.dropout1d(line, 0.5, True)", "F.dropout1d(line, 0.5, False)"),
    "dropout2d": ("F.dropout2d(image, 0.5, True)", "F.dropout2d(image, 0.5, False)"),
    "dropout3d": ("F.dropout3d(volume, 0.5, True)", "F.dropout3d(volume, 0.5, False)"),
    "feature_alpha_dropout": ("F.feature_alpha_dropout(line, 0.5, True)", "F.feature_alpha_dropout(line, 0.5, False)"),
    "einsum": ("torch.einsum('ij->ji', t)", "torch.einsum('ij,jk->ik', t, c)"),
    "fmod": ("t.fmod(2)", "c.fmod(u)"),
    "remainder": ("t.remainder(2)", "c.remainder(u)"),
    "index_add": ("t.index_add(0, index, c[:2])", "t.index_add(0, index, u[:2])"),
    "interpolate": ("F.interpolate(image, scale_factor=2)", "F.interpolate(image, size=3, mode='area')"),
    "upsample": ("F.interpolate(image, scale_factor=2)", "F.interpolate(image, size=3, mode='area')"),
    "lerp": ("torch.lerp(t, c, 0.3)", "torch.lerp(t, u, d)"),
    "matrix_power": ("torch.matrix_power(t, 1)", "torch.matrix_power(t, 2)"),
    "linalg.matrix_power": ("torch.linalg.matrix_power(t, 1)", "torch.linalg.matrix_power(t, 2)"),
    "pad": ("F.pad(image, (1, 1, 1, 1))", "F.pad(image, (1, 1, 1, 1), mode='reflect')"),
    "repeat_interleave": ("t.repeat_interleave(2)", "t.repeat_interleave(torch.tensor([1, 2, 1]), dim=0)"),
    "scatter_add": ("t.scatter_add(0, rows, c)", "c.scatter_add(0, rows, t)"),
    "trapezoid": ("torch.trapezoid(t)", "torch.trapezoid(t, c)"),
    "trapz": ("torch.trapz(t)", "torch.trapz(t, c)"),
    "cumulative_trapezoid": ("torch.cumulative_trapezoid(t)", "torch.cumulative_trapezoid(t, c)"),
    "vmap": ("torch.vmap(lambda q: q + 1)(t)", "torch.vmap(lambda q: q * 2)(t)"),
    "func.vmap": ("torch.func.vmap(lambda q: q + 1)(t)", "torch.func.vmap(lambda q: q * 2)(t)"),
    "nn.AdaptiveAvgPool1d": ("nn.AdaptiveAvgPool1d(3)(line)", "nn.AdaptiveAvgPool1d(1)(line)"),
    "nn.AdaptiveAvgPool2d": ("nn.AdaptiveAvgPool2d(2)(image)", "nn.AdaptiveAvgPool2d(1)(image)"),
    "nn.AdaptiveAvgPool3d": ("nn.AdaptiveAvgPool3d(2)(volume)", "nn.AdaptiveAvgPool3d(1)(volume)"),
    "nn.AlphaDropout": ("nn.AlphaDropout()(t)", "nn.AlphaDropout().eval()(t)"),
    "nn.FeatureAlphaDropout": ("nn.FeatureAlphaDropout()(line)", "nn.FeatureAlphaDropout().eval()(line)"),
    "nn.Dropout": ("nn.Dropout()(t)", "nn.Dropout().eval()(t)"),
    "nn.Dropout1d": ("nn.Dropout1d()(line)", "nn.Dropout1d().eval()(line)"),
    "nn.Dropout2d": ("nn.Dropout2d()(image)", "nn.Dropout2d().eval()(image)"),
    "nn.Dropout3d": ("nn.Dropout3d()(volume)", "nn.Dropout3d().eval()(volume)"),
    "nn.Upsample": ("nn.Upsample(scale_factor=2)(image)", "nn.Upsample(size=3, mode='area')(image)"),
    "igamma": ("torch.igamma(c, t)",),
    "igammac": ("torch.igammac(c, t)",),
    # functions with a form of their own
    "T": ("t.T",),
    "H": ("t.H",),
    "mT": ("t.mT",),
    "mH": ("t.mH",),
    "real": ("t.real",),
    "zero_": ("t.zero_() + u",),
    "random_": ("t.random_() + u",),
    "uniform_": ("t.uniform_() + u",),
    "exponential_": ("t.exponential_() + u",),
    "_foreach_add": ("torch._foreach_add([t, u], 1.0)[0]",),
    "_foreach_sub": ("torch._foreach_sub([t, u], 1.0)[0]",),
    "_foreach_mul": ("torch._foreach_mul([t, u], 2.0)[0]",),
    "_foreach_div": ("torch._foreach_div([t, u], 2.0)[0]",),
    "chain_matmul": ("torch.chain_matmul(t, c)",),
    "glu": ("F.glu(image)",),
    "mv": ("torch.mv(t, d[0])", "torch.mv(c, v)"),
    "narrow": ("t.narrow(0, 0, 2)",),
    "dsplit": ("torch.dsplit(image, 2)[0]",),
    "as_strided": ("t.as_strided((2, 2), (1, 1))",),
    "as_strided_scatter": ("t.as_strided_scatter(c[:2, :2], (2, 2), (1, 1))",),
    "affine_grid": ("F.affine_grid(t[None, :2], (1, 1, 4, 4), align_corners=False)",),
    "avg_pool1d": ("F.avg_pool1d(line, 2)",),
    "avg_pool2d": ("F.avg_pool2d(image, 2)",),
    "avg_pool3d": ("F.avg_pool3d(volume, 2)",),
    "batch_norm": ("F.batch_norm(image, None, None, training=True)", "F.batch_norm(image, mean4, var4)"),
    "bilinear": ("F.bilinear(t, c, torch.randn(2, 3, 3))",),
    "binary_cross_entropy": ("F.binary_cross_entropy(t, d)",),
    "broadcast_to": ("t.broadcast_to(2, 3, 3)",),
    "channel_shuffle": ("F.channel_shuffle(image, 2)",),
    "cholesky": ("torch.cholesky(spd)",),
    "cholesky_inverse": ("torch.cholesky_inverse(spd)",),
    "cholesky_solve": ("torch.cholesky_solve(t, spd)",),
    "constant_pad_nd": ("torch.constant_pad_nd(t, (1, 1))",),
    "conv1d": (
        "F.conv1d(line, torch.randn(3, 4, 3))",
        "F.conv1d(line.detach(), torch.randn(3, 4, 3).requires_grad_())",
    ),
    "conv2d": ("F.conv2d(image, torch.randn(3, 4, 3, 3))", "F.conv2d(plain, kernel)"),
    "conv_tbc": ("torch.conv_tbc(line, torch.randn(3, 8, 2), torch.zeros(2))",),
    "conv_transpose2d": ("F.conv_transpose2d(image, torch.randn(4, 3, 3, 3))",),
    "convolution": (
        "torch.convolution(image, torch.randn(3, 4, 3, 3), None, (1, 1), (0, 0), (1, 1), False, (0, 0), 1)",
    ),
    "cosine_embedding_loss": ("F.cosine_embedding_loss(t, c, torch.ones(3))",),
    "cross": ("torch.cross(t, c, dim=1)",),
    "cross_entropy": ("F.cross_entropy(t, target)", "F.cross_entropy(t, c)"),
    "ctc_loss": ("F.ctc_loss(t[:, None].log_softmax(2), torch.tensor([[1]]), torch.tensor([3]), torch.tensor([1]))",),
    "embedding": ("F.embedding(index, t)",),
    "embedding_bag": ("F.embedding_bag(index[None], t)",),
    "expand": ("t.expand(2, 3, 3)",),
    "fill": ("torch.fill(t, v.sum())",),
    "fold": ("F.fold(F.unfold(image, 2), (6, 6), 2)",),
    "fractional_max_pool2d": ("F.fractional_max_pool2d(image, 2, output_size=3)",),
    "fractional_max_pool3d": ("F.fractional_max_pool3d(volume, 2, output_size=2)",),
    "frexp": ("torch.frexp(t)[0]",),
    "gather": ("t.gather(0, rows)",),
    "gaussian_nll_loss": ("F.gaussian_nll_loss(t, c, d)", "F.gaussian_nll_loss(c, d, t)"),
    "grid_sample": ("F.grid_sample(image, torch.zeros(2, 3, 3, 2), align_corners=False)",),
    "grid_sampler_2d": ("torch.grid_sampler_2d(image, torch.zeros(2, 3, 3, 2), 0, 0, False)",),
    "grid_sampler_3d": ("torch.grid_sampler_3d(volume, torch.zeros(1, 2, 2, 2, 3), 0, 0, False)",),
    "group_norm": ("F.group_norm(image, 2)",),
    "imag": ("torch.view_as_complex(image[..., :2].contiguous()).imag",),
    "index_copy": ("t.index_copy(0, index, c[:2])",),
    "index_fill": ("t.index_fill(0, index, 0.0)",),
    "index_put": ("t.index_put((index,), torch.tensor(0.0))",),
    "index_reduce": ("t.index_reduce(0, index, c[:2], 'amax')",),
    "index_select": ("t.index_select(0, index)",),
    "instance_norm": ("F.instance_norm(image)",),
    "layer_norm": ("F.layer_norm(t, (3,))",),
    "rms_norm": ("F.rms_norm(t, (3,))",),
    "ldexp": ("torch.ldexp(t, rows)",),
    "linear": ("F.linear(t, c)", "F.linear(c, t)", "F.linear(t, u, v)"),
    "local_response_norm": ("F.local_response_norm(image, 2)",),
    "logdet": ("torch.logdet(spd)",),
    "lp_pool2d": ("F.lp_pool2d(image, 2, 2)",),
    "lu_unpack": ("torch.lu_unpack(t, torch.tensor([1, 2, 3], dtype=torch.int32))[1]",),
    "margin_ranking_loss": ("F.margin_ranking_loss(v, d[0], torch.ones(3))",),
    "masked_fill": ("t.masked_fill(c > 0.5, 0.0)",),
    "masked_scatter": ("t.masked_scatter(c > 0.5, d)",),
    "masked_select": ("t.masked_select(c > 0.1)",),
    "max_pool1d": ("F.max_pool1d(line, 2)",),
    "max_pool1d_with_indices": ("F.max_pool1d(line, 2, return_indices=True)[0]",),
    "max_pool2d": ("F.max_pool2d(image, 2)",),
    "max_pool2d_with_indices": ("F.max_pool2d(image, 2, return_indices=True)[0]",),
    "max_pool3d_with_indices": ("F.max_pool3d(volume, 2, return_indices=True)[0]",),
    "max_unpool2d": ("F.max_unpool2d(*F.max_pool2d(image, 2, return_indices=True), 2)",),
    "max_unpool3d": ("F.max_unpool3d(*F.max_pool3d(volume, 2, return_indices=True), 2)",),
    "adaptive_max_pool2d": ("F.adaptive_max_pool2d(image, 2)",),
    "adaptive_max_pool2d_with_indices": ("F.adaptive_max_pool2d(image, 2, return_indices=True)[0]",),
    "adaptive_max_pool3d": ("F.adaptive_max_pool3d(volume, 2)",),
    "mean": ("t.mean()", "t.mean(1)", "torch.mean(t)"),
    "meshgrid": ("torch.meshgrid(v, v, indexing='ij')[0]",),
    "movedim": ("t.movedim(0, 1)",),
    "moveaxis": ("t.moveaxis(0, 1)",),
    "multi_margin_loss": ("F.multi_margin_loss(t, target)",),
    "multilabel_margin_loss": ("F.multilabel_margin_loss(t, rows)",),
    "mvlgamma": ("torch.mvlgamma(t + 3, 2)",),
    "nll_loss": ("F.nll_loss(t, target)",),
    "permute": ("t.permute(1, 0)",),
    "pinverse": ("torch.pinverse(t)",),
    "pixel_shuffle": ("F.pixel_shuffle(image, 2)",),
    "pixel_unshuffle": ("F.pixel_unshuffle(image, 2)",),
    "polygamma": ("torch.polygamma(1, t)",),
    "prelu": ("F.prelu(t, torch.tensor([0.2]))", "F.prelu(c, torch.tensor([0.2]).requires_grad_())"),
    "put": ("t.put(index, c[0, :2])",),
    "quantile": ("t.quantile(0.3)",),
    "nanquantile": ("t.nanquantile(0.3)",),
    "renorm": ("t.renorm(2, 0, 0.1)",),
    "repeat": ("t.repeat(2, 1)",),
    "reshape": ("t.reshape(-1)", "t.t().reshape(-1)"),
    "scaled_dot_product_attention": ("F.scaled_dot_product_attention(image, plain, plain)",),
    "scatter": ("t.scatter(0, rows, 0.5)", "t.scatter(0, rows, c)"),
    "scatter_reduce": ("t.scatter_reduce(0, rows, c, 'amax')",),
    "select": ("t.select(0, 1)",),
    "select_scatter": ("t.select_scatter(c[0], 0, 1)",),
    "slice_scatter": ("t.slice_scatter(c[:2], 0, 0, 2)",),
    "diagonal_scatter": ("t.diagonal_scatter(c[0])",),
    "sparse.mm": ("torch.sparse.mm(torch.eye(3).to_sparse(), t)",),
    "sparse_mask": ("t.sparse_mask(torch.eye(3).to_sparse()).to_dense()",),
    "split_with_sizes": ("t.split_with_sizes([1, 2])[0]",),
    "unsafe_split_with_sizes": ("t.unsafe_split_with_sizes([1, 2])[0]",),
    "squeeze": ("t[None].squeeze()", "t[None].squeeze(0)"),
    "stft": ("torch.stft(v.repeat(8), 8, window=torch.hann_window(8), return_complex=True).real",),
    "sum_to_size": ("t.sum_to_size(1, 3)",),
    "take": ("t.take(index)",),
    "take_along_dim": ("torch.take_along_dim(t, rows, 0)",),
    "tensor_split": ("t.tensor_split(2)[0]",),
    "threshold": ("F.threshold(t, 0.0, 0.0)",),
    "to": ("t.to(torch.float64)", "t.to('cpu', copy=True)"),
    "type": ("t.type(torch.float64)",),
    "triplet_margin_loss": ("F.triplet_margin_loss(t, c, d)",),
    "triplet_margin_with_distance_loss": ("F.triplet_margin_with_distance_loss(t, c, d)",),
    "triangular_solve": ("torch.triangular_solve(t, c)[0]",),
    "unflatten": ("t.unflatten(1, (3, 1))",),
    "unfold": ("F.unfold(image, 2)", "t.unfold(1, 2, 1)"),
    "upsample_bilinear": ("F.interpolate(image, scale_factor=2, mode='bilinear')",),
    "upsample_nearest": ("F.interpolate(image, scale_factor=2, mode='nearest')",),
    "view": ("t.view(-1)", "t.view(9, 1)"),
    "view_as_complex": ("torch.view_as_complex(image[..., :2].contiguous()).real",),
    "view_as_real": ("torch.view_as_real(torch.view_as_complex(image[..., :2].contiguous()))",),
    "where": ("torch.where(c > 0.5, t, 0.0)", "torch.where(c > 0.5, t, u)"),
    "pdist": ("F.pdist(t)",),
    "cdist": ("torch.cdist(t, c)",),
    "linalg.lstsq": ("torch.linalg.lstsq(t, c)[0]",),
    "linalg.lu": ("torch.linalg.lu(t)[1]",),
    "linalg.lu_solve": ("torch.linalg.lu_solve(*torch.linalg.lu_factor(t), c)",),
    "linalg.cholesky": ("torch.linalg.cholesky(spd)",),
    "linalg.cholesky_ex": ("torch.linalg.cholesky_ex(spd)[0]",),
    "linalg.eigh": ("torch.linalg.eigh(spd)[0]",),
    "linalg.eigvalsh": ("torch.linalg.eigvalsh(spd)",),
    "linalg.eig": ("torch.linalg.eig(spd)[0].real",),
    "linalg.eigvals": ("torch.linalg.eigvals(spd).real",),
    "linalg.householder_product": ("torch.linalg.householder_product(t, c[0])",),
    "linalg.multi_dot": ("torch.linalg.multi_dot([t, c, d])",),
    "linalg.solve_triangular": ("torch.linalg.solve_triangular(t.triu(), c, upper=True)",),
    "linalg.tensorinv": ("torch.linalg.tensorinv(t, 1)",),
    "special.multigammaln": ("torch.special.multigammaln(t + 3, 2)",),
    # modules; their parameters track
    "nn.AdaptiveLogSoftmaxWithLoss": ("nn.AdaptiveLogSoftmaxWithLoss(3, 5, [2])(c, target).loss",),
    "nn.AdaptiveMaxPool1d": ("nn.AdaptiveMaxPool1d(2)(line)",),
    "nn.AdaptiveMaxPool2d": ("nn.AdaptiveMaxPool2d(2)(image)",),
    "nn.AdaptiveMaxPool3d": ("nn.AdaptiveMaxPool3d(2)(volume)",),
    "nn.AvgPool1d": ("nn.AvgPool1d(2)(line)",),
    "nn.AvgPool2d": ("nn.AvgPool2d(2)(image)",),
    "nn.AvgPool3d": ("nn.AvgPool3d(2)(volume)",),
    "nn.BatchNorm1d": ("nn.BatchNorm1d(3)(c)", "nn.BatchNorm1d(3).eval()(c)"),
    "nn.BatchNorm2d": ("nn.BatchNorm2d(4)(plain)", "nn.BatchNorm2d(4, affine=False).eval()(image)"),
    "nn.BatchNorm3d": ("nn.BatchNorm3d(4)(volume)",),
    "nn.Bilinear": ("nn.Bilinear(3, 3, 2)(c, d)",),
    "nn.ChannelShuffle": ("nn.ChannelShuffle(2)(image)",),
    "nn.CircularPad1d": ("nn.CircularPad1d(1)(line)",),
    "nn.CircularPad2d": ("nn.CircularPad2d(1)(image)",),
    "nn.CircularPad3d": ("nn.CircularPad3d(1)(volume)",),
    "nn.ConstantPad1d": ("nn.ConstantPad1d(1, 0.0)(line)",),
    "nn.ConstantPad2d": ("nn.ConstantPad2d(1, 2.0)(image)",),
    "nn.ConstantPad3d": ("nn.ConstantPad3d(1, 0.0)(volume)",),
    "nn.Conv1d": ("nn.Conv1d(4, 3, 3)(line.detach())",),
    "nn.Conv2d": ("nn.Conv2d(4, 3, 3)(plain)",),
    "nn.Conv3d": ("nn.Conv3d(4, 3, 3)(volume)",),
    "nn.ConvTranspose1d": ("nn.ConvTranspose1d(4, 3, 3)(line)",),
    "nn.ConvTranspose2d": ("nn.ConvTranspose2d(4, 3, 3)(plain)",),
    "nn.ConvTranspose3d": ("nn.ConvTranspose3d(4, 3, 3)(volume)",),
    "nn.CosineEmbeddingLoss": ("nn.CosineEmbeddingLoss()(t, c, torch.ones(3))",),
    "nn.CrossEntropyLoss": ("nn.CrossEntropyLoss()(t, target)",),
    "nn.CrossMapLRN2d": ("nn.CrossMapLRN2d(2)(image)",),
    "nn.CTCLoss": (
        "nn.CTCLoss()(t[:, None].log_softmax(2), torch.tensor([[1]]), torch.tensor([3]), torch.tensor([1]))",
    ),
    "nn.Embedding": ("nn.Embedding(5, 4)(index)", "nn.Embedding(5, 4, sparse=True)(index)"),
    "nn.EmbeddingBag": ("nn.EmbeddingBag(5, 4)(index[None])",),
    "nn.Flatten": ("nn.Flatten()(image)",),
    "nn.Fold": ("nn.Fold((6, 6), 2)(F.unfold(image, 2))",),
    "nn.FractionalMaxPool2d": ("nn.FractionalMaxPool2d(2, 3)(image)",),
    "nn.FractionalMaxPool3d": ("nn.FractionalMaxPool3d(2, 2)(volume)",),
    "nn.GRU": ("nn.GRU(3, 2)(c)[0]",),
    "nn.GRUCell": ("nn.GRUCell(3, 2)(c)",),
    "nn.GaussianNLLLoss": ("nn.GaussianNLLLoss()(t, c, d)",),
    "nn.GLU": ("nn.GLU()(image)",),
    "nn.GroupNorm": ("nn.GroupNorm(2, 4)(plain)",),
    "nn.Identity": ("nn.Identity()(t)",),
    "nn.InstanceNorm1d": ("nn.InstanceNorm1d(4)(line)",),
    "nn.InstanceNorm2d": ("nn.InstanceNorm2d(4, affine=True)(plain)",),
    "nn.InstanceNorm3d": ("nn.InstanceNorm3d(4)(volume)",),
    "nn.LPPool1d": ("nn.LPPool1d(2, 2)(line)",),
    "nn.LPPool2d": ("nn.LPPool2d(2, 2)(image)",),
    "nn.LPPool3d": ("nn.LPPool3d(2, 2)(volume)",),
    "nn.LSTM": ("nn.LSTM(3, 2)(c)[0]", "nn.LSTM(3, 2)(c)[1][0]"),
    "nn.LSTMCell": ("nn.LSTMCell(3, 2)(c)[0]",),
    "nn.LayerNorm": ("nn.LayerNorm(3)(c)",),
    "nn.LazyBatchNorm1d": ("nn.LazyBatchNorm1d()(c)",),
    "nn.LazyBatchNorm2d": ("nn.LazyBatchNorm2d()(plain)",),
    "nn.LazyBatchNorm3d": ("nn.LazyBatchNorm3d()(volume)",),
    "nn.LazyConv1d": ("nn.LazyConv1d(3, 3)(line)",),
    "nn.LazyConv2d": ("nn.LazyConv2d(3, 3)(plain)",),
    "nn.LazyConv3d": ("nn.LazyConv3d(3, 3)(volume)",),
    "nn.LazyConvTranspose1d": ("nn.LazyConvTranspose1d(3, 3)(line)",),
    "nn.LazyConvTranspose2d": ("nn.LazyConvTranspose2d(3, 3)(plain)",),
    "nn.LazyConvTranspose3d": ("nn.LazyConvTranspose3d(3, 3)(volume)",),
    "nn.LazyLinear": ("nn.LazyLinear(2)(c)",),
    "nn.Linear": ("nn.Linear(3, 2)(c)", "nn.Linear(3, 2)(t)", "nn.Linear(3, 2, bias=False)(c)"),
    "nn.LocalResponseNorm": ("nn.LocalResponseNorm(2)(image)",),
    "nn.MarginRankingLoss": ("nn.MarginRankingLoss()(v, d[0], torch.ones(3))",),
    "nn.MaxPool1d": ("nn.MaxPool1d(2)(line)",),
    "nn.MaxPool2d": ("nn.MaxPool2d(2)(image)",),
    "nn.MaxPool3d": ("nn.MaxPool3d(2)(volume)",),
    "nn.MaxUnpool1d": ("nn.MaxUnpool1d(2)(*F.max_pool1d(line, 2, return_indices=True))",),
    "nn.MaxUnpool2d": ("nn.MaxUnpool2d(2)(*F.max_pool2d(image, 2, return_indices=True))",),
    "nn.MaxUnpool3d": ("nn.MaxUnpool3d(2)(*F.max_pool3d(volume, 2, return_indices=True))",),
    "nn.MultiLabelMarginLoss": ("nn.MultiLabelMarginLoss()(t, rows)",),
    "nn.MultiMarginLoss": ("nn.MultiMarginLoss()(t, target)",),
    "nn.MultiheadAttention": ("nn.MultiheadAttention(3, 1)(c, c, c)[0]",),
    "nn.NLLLoss": ("nn.NLLLoss()(t, target)",),
    "nn.PReLU": ("nn.PReLU()(c)", "nn.PReLU()(t)"),
    "nn.PixelShuffle": ("nn.PixelShuffle(2)(image)",),
    "nn.PixelUnshuffle": ("nn.PixelUnshuffle(2)(image)",),
    "nn.RMSNorm": ("nn.RMSNorm(3)(c)",),
    "nn.RNN": ("nn.RNN(3, 2)(c)[0]",),
    "nn.RNNCell": ("nn.RNNCell(3, 2)(c)",),
    "nn.ReflectionPad1d": ("nn.ReflectionPad1d(1)(line)",),
    "nn.ReflectionPad2d": ("nn.ReflectionPad2d(1)(image)",),
    "nn.ReflectionPad3d": ("nn.ReflectionPad3d(1)(volume)",),
    "nn.ReplicationPad1d": ("nn.ReplicationPad1d(1)(line)",),
    "nn.ReplicationPad2d": ("nn.ReplicationPad2d(1)(image)",),
    "nn.ReplicationPad3d": ("nn.ReplicationPad3d(1)(volume)",),
    "nn.Softmax2d": ("nn.Softmax2d()(image)",),
    "nn.Threshold": ("nn.Threshold(0.0, 0.0)(t)",),
    "nn.Transformer": ("nn.Transformer(4, 2, 1, 1, 8)(sequence, sequence)",),
    "nn.TransformerDecoder": ("nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 8), 1)(sequence, sequence)",),
    "nn.TransformerDecoderLayer": ("nn.TransformerDecoderLayer(4, 2, 8)(sequence, sequence)",),
    "nn.TransformerEncoder": ("nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8), 1)(sequence)",),
    "nn.TransformerEncoderLayer": ("nn.TransformerEncoderLayer(4, 2, 8)(sequence)",),
    "nn.TripletMarginLoss": ("nn.TripletMarginLoss()(t, c, d)",),
    "nn.Unflatten": ("nn.Unflatten(1, (3, 1))(t)",),
    "nn.Unfold": ("nn.Unfold(2)(image)",),
    "nn.UpsamplingBilinear2d": ("nn.UpsamplingBilinear2d(scale_factor=2)(image)",),
    "nn.UpsamplingNearest2d": ("nn.UpsamplingNearest2d(scale_factor=2)(image)",),
    "nn.ZeroPad1d": ("nn.ZeroPad1d(1)(line)",),
    "nn.ZeroPad2d": ("nn.ZeroPad2d(1)(image)",),
    "nn.ZeroPad3d": ("nn.ZeroPad3d(1)(volume)",),
    "nn.utils.parametrizations.spectral_norm": ("nn.utils.parametrizations.spectral_norm(nn.Linear(3, 3))(c)",),
    "nn.utils.parametrizations.weight_norm": ("nn.utils.parametrizations.weight_norm(nn.Linear(3, 3))(c)",),
}

GENERIC = (
    "f(t)",
    "f(t, u)",
    "f(t, c)",
    "f(t, u, w)",
    "f(t, 1)",
    "f(t, 0, 1)",
    "f([t, u])",
    "f(t, (3,))",
    "f(t, (0,))",
    "f(v)",
    "f(v, v)",
    "f(t[None])",
    "f(t[None], u[None])",
    "f()(t)",
    "f()(t, c)",
    "f(2)(t)",
)
# Wants a process group.
UNBUILT = {"nn.SyncBatchNorm"}


def environment() -> dict[str, Any]:
    torch.default_generator.manual_seed(0)

    def tracked(*shape: int) -> Any:
        return (torch.rand(*shape) * 0.8 + 0.1).requires_grad_() + 0

    def put(target: Any, key: Any, value: Any) -> Any:
        target[key] = value
        return target

    t = tracked(3, 3)
    c = torch.rand(3, 3) * 0.8 + 0.1
    eye = torch.eye(3)
    return {
        "torch": torch,
        "nn": nn,
        "F": nn.functional,
        "put": put,
        "t": t,
        "u": tracked(3, 3),
        "w": tracked(3, 3),
        "v": t[0],
        "c": c,
        "d": torch.rand(3, 3) * 0.8 + 0.1,
        "spd": t + t.t() + 4 * eye.requires_grad_(False) + 0,
        "image": tracked(2, 4, 6, 6),
        "line": tracked(2, 4, 8),
        "volume": tracked(1, 4, 4, 4, 4),
        "sequence": torch.rand(3, 2, 4),
        "plain": torch.rand(2, 4, 6, 6),
        "kernel": torch.randn(3, 4, 3, 3).requires_grad_(),
        "mean4": torch.zeros(4),
        "var4": torch.ones(4),
        "index": torch.tensor([0, 2]),
        "target": torch.tensor([0, 2, 1]),
        "rows": torch.tensor([[0, 1, 2], [1, 2, 0], [2, 0, 1]]),
    }


@functools.cache
def outcome(form: str, function: Any = None) -> bool | None:
    """Whether a second backward through the form fails; None if there is no such form, or no graph."""
    names = environment() | {"f": function}
    try:
        result = eval(form, names)
    except Exception:
        return None
    while isinstance(result, (tuple, list)) and result:
        result = result[0]
    if not isinstance(result, torch.Tensor) or not result.requires_grad:
        return None
    seed = torch.ones_like(result)
    try:
        result.backward(seed)
    except Exception:
        return None
    try:
        result.backward(seed)
    except RuntimeError as error:
        return True if "second time" in str(error) else None
    return False


def functions(name: str) -> Iterator[Any]:
    for space in (torch, torch.Tensor, nn.functional):
        found: Any = space
        for part in name.split("."):
            found = getattr(found, part, None)
        if callable(found):
            yield found


def outcomes(name: str) -> dict[str, bool]:
    """What the listed forms do, or else the first generic form that each of the entry's functions takes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seen: dict[str, bool] = {}
        for function in (None,) if name in EXPRESSIONS else functions(name):
            tried = ((form, outcome(form, function)) for form in EXPRESSIONS.get(name, GENERIC))
            built = ((form, failed) for form, failed in tried if failed is not None)
            seen.update(built if function is None else itertools.islice(built, 1))
        return seen


@pytest.mark.parametrize("name", [name for name in SAVES if name not in UNBUILT])
def test_second_backward(name: str) -> None:
    """Fails for what saves, passes for what does not, and both happen where the table says that it depends."""
    seen = outcomes(name)
    assert seen, "no form of it could be built"
    if SAVES[name] is None:
        assert name not in EXPRESSIONS or len(EXPRESSIONS[name]) == 1 or set(seen.values()) == {True, False}, seen
    else:
        assert set(seen.values()) == {SAVES[name]}, seen


def test_listed_forms_can_be_built() -> None:
    """A form that does not run checks nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        broken = {form for forms in EXPRESSIONS.values() for form in forms if outcome(form, None) is None}
    assert broken == set()


def test_every_entry_is_listed_or_known() -> None:
    """Expressions and exceptions speak of entries that exist."""
    assert (EXPRESSIONS.keys() | UNBUILT) <= SAVES.keys()


@pytest.mark.parametrize(
    ("names", "saves"),
    [
        (("torch.relu", "Tensor.relu", "torch.Tensor.relu", "torch.nn.functional.relu", "Tensor.relu_"), True),
        (("torch.add", "Tensor.add", "Tensor.add_", "+"), False),
        (("torch.nn.ReLU", "torch.nn.Linear"), True),
        (("torch.mean", "Tensor.mean", "Tensor.sum", "torch.cat"), False),
        (("torch.nn.functional.dropout", "torch.nn.Dropout", "torch.nn.Unheard", "torch.unheard", "//"), None),
    ],
)
def test_names_find_each_other(names: tuple[str, ...], saves: bool | None) -> None:
    """An entry answers for the function, the method, the functional form and the in-place form."""
    assert {PROFILE.saves(name) for name in names} == {saves}
