import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { project } from '../../../bin/dev/local'

/**
 * Builds the app for production, with the preview of the pages. Throws an error with the
 * output of a failed build.
 */
export async function build(): Promise<void> {
  const env = {
    ...process.env,
    NODE_ENV: 'production',
    BUILD_TEST_PREVIEW: 'true',
  } as const
  console.log('Building …')
  await promisify(execFile)(process.execPath, ['--import', 'tsx', 'bin/build.ts'], {
    cwd: project,
    env,
  }).catch(({ stdout, stderr }) => {
    throw new Error(`The build failed:\n${stdout}${stderr}`)
  })
}
