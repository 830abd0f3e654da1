;;; drive.el --- carries out a plan in a headless Emacs with eglot  -*- lexical-binding: t -*-

;; ADLINT_DRIVE names a file with {"file", "setup", "saving", "out", "plan"}; drive.lua says what they are and what the
;; steps of a plan mean.  Here the user's configuration is in Emacs Lisp.

(let ((default-directory "/usr/share/emacs/site-lisp/elpa"))
  (when (file-directory-p default-directory) (normal-top-level-add-subdirs-to-load-path)))
(require 'cl-lib)
(require 'eglot)
(require 'flymake)
(require 'json)
(require 'python)

(setq eglot-sync-connect 10 create-lockfiles nil make-backup-files nil auto-save-default nil
      eglot-confirm-server-edits nil)

(defvar drive (with-temp-buffer
                (insert-file-contents (getenv "ADLINT_DRIVE"))
                (let ((json-object-type 'plist) (json-array-type 'list)) (json-read))))
(defvar drive-seen nil)

(defun drive-leave (reason)
  "Write what was seen, or the REASON why not, and end Emacs."
  (let ((coding-system-for-write 'utf-8)
        (result `((version . ,emacs-version) (seen . ,(vconcat (reverse drive-seen))))))
    (with-temp-file (plist-get drive :out)
      (insert (json-encode (if reason `((error . ,reason) ,@result) result)))))
  (kill-emacs (if reason 1 0)))

(defun drive-shown ()
  "Return the findings that flymake shows, as texts."
  (mapcar (lambda (one)
            (let* ((beg (flymake-diagnostic-beg one)) (end (flymake-diagnostic-end one))
                   (given (alist-get 'eglot-lsp-diag (flymake-diagnostic-data one)))
                   (range (plist-get given :range))
                   (empty (equal (plist-get range :start) (plist-get range :end)))) ; eglot makes a range of its own then
              (format "%d %s %s" (line-number-at-pos beg) (plist-get given :code)
                      (if empty "" (buffer-substring-no-properties beg (min end (point-max)))))))
          (sort (copy-sequence (flymake-diagnostics))
                (lambda (a b) (< (flymake-diagnostic-beg a) (flymake-diagnostic-beg b))))))

(defun drive-see (&rest wanted)
  "Wait until the WANTED findings are shown; note what is."
  (eglot--signal-textDocument/didChange) ; a timer does this while Emacs is idle, which it never is without a terminal
  (with-timeout ((string-to-number (or (getenv "ADLINT_PATIENCE") "20"))
                 (error "Shown: %S" (drive-shown)))
    (while (not (equal (drive-shown) wanted))
      (accept-process-output nil 0.02)
      (flymake-start)))
  (push (vconcat (drive-shown)) drive-seen))

(defun drive-choose (line title)
  "With point in LINE, choose the code action whose title begins with TITLE."
  (goto-char (point-min))
  (forward-line (1- line))
  (let ((last-nonmenu-event t) (before (buffer-chars-modified-tick)))
    (cl-letf (((symbol-function 'completing-read)
               (lambda (_prompt items &rest _)
                 (or (cl-find-if (lambda (item) (string-prefix-p title item)) (mapcar #'car items))
                     (error "The menu has no %s: %S" title (mapcar #'car items))))))
      (eglot-code-actions (line-beginning-position) (line-end-position) nil t))
    (when (= before (buffer-chars-modified-tick))
      (error "No change by %s" title))))

(defun drive-type (line text)
  "Make TEXT the new LINE."
  (goto-char (point-min))
  (forward-line (1- line))
  (insert text "\n"))

(defun drive-erase (line)
  "Take LINE away."
  (goto-char (point-min))
  (forward-line (1- line))
  (delete-region (point) (line-beginning-position 2)))

(defun drive-save ()
  "Write the file."
  (save-buffer))

(defun drive-evaluate (text)
  "Evaluate every form in TEXT."
  (with-temp-buffer
    (insert text)
    (eval-buffer)))

(condition-case problem
    (progn
      (drive-evaluate (plist-get drive :setup))
      (drive-evaluate (plist-get drive :saving))
      (find-file (plist-get drive :file))
      (run-hooks 'post-command-hook)
      (dolist (step (plist-get drive :plan))
        (apply (intern (concat "drive-" (car step))) (cdr step)))
      (drive-leave nil))
  (error (drive-leave (format "%S" problem))))
