/**
 * Colours, type and spaces stand here once. The accent, what goes with it and --surface come from lib/accent-color.ts.
 * A string, because app/layout.tsx writes it into the page: a stylesheet of its own would hold back what is seen and, as Next.js puts it
 * first, every script in the page.
 */
export const styles = /* css */ `
:root {
  color-scheme: light dark;

  --ground: #f4f3ef;
  --ink: #1c1d1a;
  --ink-soft: #5a5b55;
  --line: #dfddd5;
  --field-line: #84857d;
  --danger: #b42318;
  --danger-ground: #fdf2f0;
  --good: #1b6e45;
  --good-ground: #e9f4ee;
  --warn: #8a5300;
  --warn-ground: #fbf1df;
  --quiet-ground: #f2f1ec;
  --shadow: 0 1px 2px rgb(28 29 26 / 5%), 0 12px 32px -12px rgb(28 29 26 / 12%);

  --font: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", Arial, sans-serif;
  --small: 0.875rem;
  --text: 1rem;
  --title: clamp(1.5rem, 1.3rem + 0.9vw, 1.75rem);

  --space-1: 0.25rem;
  --space-2: 0.5rem;
  --space-3: 0.75rem;
  --space-4: 1rem;
  --space-5: 1.5rem;
  --space-6: 2rem;
  --space-7: 2.75rem;
  --radius: 0.625rem;
}

@media (prefers-color-scheme: dark) {
  :root {
    --ground: #131416;
    --ink: #f0efeb;
    --ink-soft: #aeada6;
    --line: #34363a;
    --field-line: #7d8087;
    --danger: #ff9a8d;
    --danger-ground: #38201d;
    --good: #6fd3a0;
    --good-ground: #183226;
    --warn: #f0b866;
    --warn-ground: #35291a;
    --quiet-ground: #27292c;
    --shadow: none;
  }
}

*,
*::before,
*::after {
  box-sizing: border-box;
}

html {
  font: 100% / 1.5 var(--font);
  text-size-adjust: 100%;
  -webkit-text-size-adjust: 100%;
}

body {
  display: flex;
  flex-direction: column;
  align-items: center;
  min-block-size: 100vh;
  min-block-size: 100dvh;
  margin: 0;
  padding-block: clamp(var(--space-5), 11vh, 7rem) var(--space-6);
  padding-inline: var(--space-4);
  color: var(--ink);
  background: var(--ground);
  overflow-wrap: break-word;
}

.brand,
.card {
  inline-size: 100%;
  max-inline-size: 28rem;
}

.brand {
  display: flex;
  align-items: center;
  gap: var(--space-3);
  margin-block-end: var(--space-5);
  font-weight: 600;
  letter-spacing: -0.005em;
}

.brand-mark {
  display: grid;
  flex: none;
  place-items: center;
  block-size: 2rem;
  inline-size: 2rem;
  border-radius: 0.5rem;
  color: var(--on-accent);
  background: var(--accent);
  text-transform: uppercase;
}

.brand-name {
  min-inline-size: 0;
}

.card {
  padding: var(--space-6);
  border: 1px solid var(--line);
  border-radius: 1rem;
  background: var(--surface);
  box-shadow: var(--shadow);
}

/* on a phone the page is the card */
@media (max-width: 32rem) {
  :root {
    --ground: var(--surface);
  }

  body {
    padding-block-start: var(--space-5);
    padding-inline: var(--space-5);
  }

  .card {
    padding: 0;
    border: 0;
    border-radius: 0;
    box-shadow: none;
  }
}

h1 {
  margin: 0 0 var(--space-3);
  font-size: var(--title);
  font-weight: 600;
  line-height: 1.2;
  letter-spacing: -0.018em;
  text-wrap: balance;
}

h1:focus {
  outline: none; /* it takes the focus for screen readers, and can't be operated */
}

p {
  margin: 0 0 var(--space-4);
  color: var(--ink-soft);
  text-wrap: pretty;
}

a {
  color: var(--accent-text);
  text-underline-offset: 0.2em;
}

:focus-visible {
  outline: 3px solid var(--accent-text);
  outline-offset: 2px;
}

/* the sign of a state */

.sign {
  display: grid;
  place-items: center;
  block-size: 2.75rem;
  inline-size: 2.75rem;
  margin-block-end: var(--space-5);
  border-radius: 50%;
  color: var(--ink-soft);
  background: var(--quiet-ground);
}

.sign.good {
  color: var(--good);
  background: var(--good-ground);
}

.sign.wrong {
  color: var(--danger);
  background: var(--danger-ground);
}

.sign.wait,
.sign.unclear,
.sign.offline {
  color: var(--warn);
  background: var(--warn-ground);
}

.sign.busy {
  border: 3px solid var(--line);
  border-block-start-color: var(--accent-text);
  background: none;
  animation: turn 0.9s linear infinite;
}

@keyframes turn {
  to {
    transform: rotate(1turn);
  }
}

@media (prefers-reduced-motion: reduce) {
  .sign.busy {
    animation: breathe 2.4s ease-in-out infinite;
  }
}

@keyframes breathe {
  50% {
    opacity: 0.45;
  }
}

/* actions */

.actions {
  display: flex;
  flex-wrap: wrap;
  gap: var(--space-3);
  margin-block-start: var(--space-5);
}

.actions:empty {
  display: none;
}

.button {
  display: inline-flex;
  align-items: center;
  justify-content: center;
  min-block-size: 2.875rem;
  padding: var(--space-2) var(--space-5);
  border: 1px solid transparent;
  border-radius: var(--radius);
  color: var(--on-accent);
  background: var(--accent);
  font: inherit;
  font-weight: 600;
  text-align: center;
  text-decoration: none;
  cursor: pointer;
}

.button:not([aria-disabled="true"]):hover {
  box-shadow: 0 0 0 3px color-mix(in srgb, var(--accent) 30%, transparent); /* the label keeps its contrast */
}

.button.quiet {
  border-color: var(--field-line);
  color: var(--ink);
  background: none;
}

.button.quiet:not([aria-disabled="true"]):hover {
  background: var(--quiet-ground);
}

.button[aria-disabled="true"] {
  border-color: var(--line);
  color: var(--ink-soft);
  background: var(--quiet-ground);
  cursor: default;
}

.wide {
  inline-size: 100%;
}

/* the marks that lib/arrived-secret.ts leaves on a page until it works */

.not-loaded,
.early {
  display: none;
}

[data-stuck] .not-loaded {
  display: block;
}

[data-stuck] .instead + .needs-script {
  display: none;
}

.not-loaded:not(.instead) {
  margin-block-end: var(--space-5);
  padding: var(--space-4);
  border: 1px solid var(--warn);
  border-inline-start-width: 5px;
  border-radius: var(--radius);
  background: var(--warn-ground);
}

.not-loaded:not(.instead) p {
  margin: 0;
  color: inherit;
}

[data-submitted-early]:not([data-stuck]) .early {
  display: inline;
}

[data-fragment] .needs-script {
  visibility: hidden;
}

.wait {
  min-block-size: 1.5em;
  font-variant-numeric: tabular-nums;
}

.note {
  margin: 0;
}

.note:not(:empty) {
  margin: var(--space-3) 0 0;
  font-size: var(--small);
}

.reference {
  margin: var(--space-5) 0 0;
  padding-block-start: var(--space-4);
  border-block-start: 1px solid var(--line);
  font-size: var(--small);
}

.reference code {
  display: block;
  color: var(--ink);
  font:
    0.8125rem / 1.5 ui-monospace,
    "SF Mono",
    Menlo,
    Consolas,
    monospace;
  overflow-wrap: anywhere;
  user-select: all;
}

.facts {
  margin: 0;
}

.facts dt {
  color: var(--ink-soft);
  font-size: var(--small);
}

.facts dd {
  margin: 0 0 var(--space-4);
  font-weight: 600;
  overflow-wrap: anywhere;
}

@media (max-width: 32rem) {
  .actions > * {
    flex: 1 1 auto;
  }
}

/* the form */

.reset-form {
  margin-block-start: var(--space-5);
}

.error-summary {
  margin-block-end: var(--space-5);
  padding: var(--space-4);
  border: 1px solid var(--danger);
  border-inline-start-width: 5px;
  border-radius: var(--radius);
  background: var(--danger-ground);
}

.error-summary h2,
.not-loaded h2 {
  margin: 0 0 var(--space-1);
  font-size: var(--text);
}

.error-summary a {
  color: var(--danger);
  font-weight: 600;
}

.field {
  margin-block-end: var(--space-5);
}

.field label {
  display: block;
  margin-block-end: var(--space-1);
  font-weight: 600;
}

.rules {
  margin: 0 0 var(--space-3);
  padding-inline-start: 1.15em;
  color: var(--ink-soft);
  font-size: var(--small);
}

.rules li + li {
  margin-block-start: var(--space-1);
}

.field-error {
  margin-block-end: var(--space-2);
  color: var(--danger);
  font-weight: 600;
}

.password {
  display: flex;
  border: 1px solid var(--field-line);
  border-radius: var(--radius);
  background: var(--surface);
}

.password:has(input:focus-visible) {
  outline: 3px solid var(--accent-text);
  outline-offset: 2px;
}

.invalid .password {
  border-color: var(--danger);
  box-shadow: inset 0 0 0 1px var(--danger);
}

.password input {
  flex: 1;
  min-inline-size: 0;
  min-block-size: 2.875rem;
  padding: var(--space-2) var(--space-3);
  border: 0;
  border-radius: inherit;
  color: inherit;
  background: none;
  font: inherit;
  font-size: max(1rem, 16px); /* below 16 px a phone zooms in */
}

.password input:focus-visible {
  outline: none; /* its frame has one */
}

.show {
  flex: none;
  min-inline-size: 4.5rem;
  margin: 0;
  padding-inline: var(--space-3);
  border: 0;
  border-inline-start: 1px solid var(--line);
  border-radius: 0;
  border-start-end-radius: calc(var(--radius) - 1px);
  border-end-end-radius: calc(var(--radius) - 1px);
  color: var(--accent-text);
  background: none;
  font: inherit;
  font-weight: 600;
  cursor: pointer;
}

.show:hover {
  text-decoration: underline;
}

.strength {
  display: flex;
  align-items: center;
  gap: var(--space-3);
  min-block-size: 1.5em;
  margin: var(--space-2) 0 0;
  font-size: var(--small);
}

.strength-bar {
  display: flex;
  flex: none;
  gap: 3px;
  visibility: hidden;
}

.strength[data-reading] .strength-bar {
  visibility: visible;
}

.strength-bar span {
  block-size: 5px;
  inline-size: 1.5rem;
  border-radius: 3px;
  background: var(--line);
}

.strength[data-reading="weak"] .strength-bar span:nth-child(1) {
  background: var(--warn);
}

.strength[data-reading="good"] .strength-bar span:nth-child(-n + 2),
.strength[data-reading="strong"] .strength-bar span {
  background: var(--good);
}

.visually-hidden {
  position: absolute;
  block-size: 1px;
  inline-size: 1px;
  margin: -1px;
  overflow: hidden;
  clip-path: inset(50%);
  white-space: nowrap;
}

@media (forced-colors: active) {
  .brand-mark,
  .sign {
    border: 1px solid CanvasText;
  }

  .sign.busy {
    border: 3px solid GrayText;
    border-block-start-color: Highlight;
  }

  .button {
    border-color: currentcolor;
  }

  .button[aria-disabled="true"] {
    color: GrayText;
  }

  .strength-bar span {
    border: 1px solid CanvasText;
  }

  .strength[data-reading="weak"] .strength-bar span:nth-child(1),
  .strength[data-reading="good"] .strength-bar span:nth-child(-n + 2),
  .strength[data-reading="strong"] .strength-bar span {
    background: CanvasText;
    forced-color-adjust: none;
  }
}
`
