import { type ExecFileOptions, execFile } from 'node:child_process'
import { production } from './server'

export type Ended = { code: number; stdout: string; stderr: string }

/**
 * Runs a command of the production folder until it exits. Starts it without npm, because
 * npm is slower.
 */
export function runScript(
  [script, ...parameters]: string[],
  stdin = '',
  settings: Record<string, string | undefined> = {},
): Promise<Ended> {
  const program = `${production}bin/${script === 'start' ? 'server' : script}.js`
  const given = parameters[0] === '--' ? parameters.slice(1) : parameters
  const env = { ...process.env, ...settings } as NodeJS.ProcessEnv
  return runProgram(
    process.execPath,
    [program, ...given],
    { cwd: production, env },
    stdin,
  )
}

/**
 * Runs a command of the production folder in a terminal, into which a text is typed. In a
 * terminal, stdout has what was typed, and what the command wrote to stderr.
 */
export function runInTerminal(
  [script, ...parameters]: string[],
  typed: string,
  settings: Record<string, string | undefined> = {},
): Promise<Ended> {
  const command = [process.execPath, `${production}bin/${script}.js`, ...parameters]
  const quoted = command.map((part) => `'${part}'`).join(' ')
  const env = { ...process.env, ...settings } as NodeJS.ProcessEnv
  const options = { cwd: production, env }
  return runProgram('script', ['-qec', quoted, '/dev/null'], options, typed)
}

/** Runs a program with a text on stdin until it exits. */
export function runProgram(
  program: string,
  parameters: string[],
  options: ExecFileOptions,
  stdin = '',
): Promise<Ended> {
  return new Promise((resolve) => {
    const child = execFile(program, parameters, options, (error, stdout, stderr) =>
      resolve({
        code: Number(error?.code ?? 0),
        stdout: String(stdout),
        stderr: String(stderr),
      }),
    )
    child.stdin!.end(stdin)
  })
}

/** Runs `npm run connections`, and returns what it printed. Throws if it failed. */
export async function connections(
  parameters: string[],
  stdin = '',
  settings: Record<string, string> = {},
): Promise<string> {
  const { code, stdout, stderr } = await runScript(
    ['connections', ...parameters],
    stdin,
    settings,
  )
  if (code !== 0)
    throw new Error(
      `connections ${parameters[0]} exited with ${code}:\n${stdout}${stderr}`,
    )
  return stdout
}
