import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { project } from '../../bin/local'

export type Ended = { code: number; stdout: string; stderr: string }

/**
 * Runs a script of package.json with text on stdin, until it exits. Starts its program without npm,
 * which takes as long again.
 */
export function runScript(
  [script, ...parameters]: string[],
  stdin = '',
  settings: Record<string, string | undefined> = {},
): Promise<Ended> {
  const { scripts } = JSON.parse(readFileSync(`${project}package.json`, 'utf8'))
  const [program] = /bin\/[\w-]+\.ts/.exec(scripts[script!])!
  const given = parameters[0] === '--' ? parameters.slice(1) : parameters
  const env = { ...process.env, ...settings } as NodeJS.ProcessEnv
  return new Promise((resolve) => {
    const command = ['--import', 'tsx', program, ...given]
    const child = execFile(process.execPath, command, { cwd: project, env }, (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), stdout, stderr }),
    )
    child.stdin!.end(stdin)
  })
}

/** Runs `npm run connections`, and returns what it printed. Throws if it failed. */
export async function connections(parameters: string[], stdin = ''): Promise<string> {
  const { code, stdout, stderr } = await runScript(['connections', ...parameters], stdin)
  if (code !== 0) throw new Error(`connections ${parameters[0]} exited with ${code}:\n${stdout}${stderr}`)
  return stdout
}
