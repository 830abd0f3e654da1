-- Carries out a plan in a headless Neovim, through what a user's keys would call.
--
-- ADLINT_DRIVE names a file with {"file", "setup", "saving", "out", "plan"}: the file to open, the user's configuration
-- in Lua (two texts; without one for this version, a client is started by hand), where to write what was seen, and the
-- steps, each a list:
--   see LINES...         wait until exactly these findings are shown
--   choose LINE TITLE    choose the entry of the menu of code actions that begins so, with the cursor in that line
--   type LINE TEXT       put a new line there
--   erase LINE           take a line away
--   save                 write the file
-- A finding is shown as "line code text": the text is what the editor underlines. What `see` saw in the end is written
-- out, one list for each; a step that goes wrong writes its reason instead and ends the plan.

local function read(path)
  return table.concat(vim.fn.readfile(path), '\n')
end

local drive = vim.fn.json_decode(read(os.getenv('ADLINT_DRIVE')))
local seen = {}
local PATIENCE = tonumber(os.getenv('ADLINT_PATIENCE') or 20) * 1000

local function leave(reason)
  local result = { version = tostring(vim.version().major) .. '.' .. vim.version().minor, seen = seen }
  result.error = reason
  if #seen == 0 then
    result.seen = nil
  end
  vim.fn.writefile({ vim.fn.json_encode(result) }, drive.out)
  vim.cmd(reason and 'cquit 1' or 'qall!')
end

local function request(client, method, params, buf)
  if vim.fn.has('nvim-0.11') == 1 then
    return client:request_sync(method, params, 5000, buf)
  end
  return client.request_sync(method, params, 5000, buf)
end

local function by_hand()
  local settings = { name = 'adlint', cmd = { 'adlint', 'server' }, root_dir = vim.fn.getcwd() }
  if vim.lsp.start then
    return vim.lsp.start(settings)
  end
  local id = vim.lsp.start_client(settings)
  vim.lsp.buf_attach_client(0, id)
  return id
end

local function fix_on_saving(buf, id)
  vim.api.nvim_create_autocmd('BufWritePre', { buffer = buf, callback = function()
    local client = vim.lsp.get_client_by_id(id)
    local params = {
      textDocument = vim.lsp.util.make_text_document_params(),
      range = { start = { line = 0, character = 0 }, ['end'] = { line = vim.fn.line('$'), character = 0 } },
      context = { only = { 'source.fixAll.adlint' }, diagnostics = {} },
    }
    local answer = request(client, 'textDocument/codeAction', params, buf)
    for _, action in ipairs(answer and answer.result or {}) do
      local resolved = action.edit and action or request(client, 'codeAction/resolve', action, buf).result
      vim.lsp.util.apply_workspace_edit(resolved.edit, client.offset_encoding)
    end
  end })
end

local function underlined(one)
  local last = one.end_lnum
  return table.concat(vim.api.nvim_buf_get_text(0, one.lnum, one.col, last, one.end_col, {}), '\n')
end

local function shown()
  local found = vim.diagnostic.get(0)
  table.sort(found, function(a, b)
    return a.lnum < b.lnum or a.lnum == b.lnum and a.col < b.col
  end)
  local lines = {}
  for number, one in ipairs(found) do
    local code = one.code or one.user_data and one.user_data.lsp and one.user_data.lsp.code
    lines[number] = ('%d %s %s'):format(one.lnum + 1, code, underlined(one))
  end
  return lines
end

local steps = {}

function steps.see(...)
  local wanted = vim.inspect({ ... })
  local met = vim.wait(PATIENCE, function()
    return vim.inspect(shown()) == wanted
  end, 10)
  local last = shown()
  table.insert(seen, #last > 0 and last or vim.empty_dict())
  if not met then
    error('shown: ' .. vim.inspect(last))
  end
end

function steps.choose(line, title)
  local entries, before = {}, vim.api.nvim_buf_get_changedtick(0)
  vim.ui.select = function(items, options, on_choice)
    for _, item in ipairs(items) do
      local entry = options.format_item(item)
      table.insert(entries, entry)
      if vim.startswith(entry, title) then
        return on_choice(item)
      end
    end
    return nil
  end
  vim.api.nvim_win_set_cursor(0, { line, 0 })
  vim.lsp.buf.code_action()
  local changed = vim.wait(PATIENCE, function()
    return vim.api.nvim_buf_get_changedtick(0) ~= before
  end, 10)
  if not changed then
    error('no change by ' .. title .. '; the menu: ' .. vim.inspect(entries))
  end
end

function steps.type(line, text)
  vim.fn.append(line - 1, text)
end

function steps.erase(line)
  vim.fn.deletebufline('%', line)
end

function steps.save()
  vim.cmd('write')
end

local function main()
  local given = vim.fn.has('nvim-0.11') == 1
  if given then
    assert(loadstring(drive.setup))()
    if drive.saving ~= '' then
      assert(loadstring(drive.saving))()
    end
  end
  vim.cmd('filetype on')
  vim.cmd('edit ' .. vim.fn.fnameescape(drive.file))
  if not given then
    local id = by_hand()
    if drive.saving ~= '' then
      fix_on_saving(vim.api.nvim_get_current_buf(), id)
    end
  end
  for _, step in ipairs(drive.plan) do
    steps[step[1]](unpack(step, 2))
  end
end

local done, reason = xpcall(main, debug.traceback)
leave(not done and reason or nil)
