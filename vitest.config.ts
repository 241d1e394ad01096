import { generateKeyPairSync } from 'node:crypto'
import { defineConfig } from 'vitest/config'

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })

// Unit tests need no build, no server and no database. All other tests run on Playwright,
// in e2e/.
export default defineConfig({
  test: {
    include: ['{lib,app,bin,deploy,docs,prisma}/**/*.spec.{ts,tsx}', 'proxy.spec.ts'],
    maxWorkers: '100%',
    isolate: false, // a process for each file would take as much CPU time as the tests
    testTimeout: 30_000,
    hookTimeout: 30_000,
    expect: { poll: { interval: 10, timeout: 15_000 } },
    env: {
      DATABASE_URL: 'postgresql://localhost:1/none', // no unit test connects
      PUBLIC_URL: 'http://localhost:3000',
      SESSION_SIGNING_KEYS: JSON.stringify({
        keys: [privateKey.export({ format: 'jwk' })],
      }),
      RATE_LIMIT: 'in-process',
      TRUSTED_PROXIES: '1',
      PASSWORD_BREACH_CHECK: 'false',
      LOG_LEVEL: 'silent',
    },
  },
})
