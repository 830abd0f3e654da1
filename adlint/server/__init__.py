"""An editor's messages → findings, fixes and explanations, as the language server protocol has it.

    wire        bytes ⇄ messages           workspace  folders → settings and projects
    connection  messages ⇄ handlers        answers    findings → what is sent
    units       positions ⇄ positions      actions    findings → what a menu offers
    texts       open texts ⇄ Source        session    who is told what, and when

Analyses nothing itself: what it says of a text is what `linter.lint` and `linter.fix` say. Made of the standard library
alone, since what the usual library loads takes longer than a server may take to start (`docs/editors.md`).
"""
