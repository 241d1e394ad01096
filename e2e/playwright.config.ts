import { defineConfig } from 'playwright/test'

export default defineConfig({
  globalSetup: './support/global-setup.ts',
  outputDir: './results/traces',
  reporter: process.env.CI ? [['list']] : [['line']],
  // One more than the processors of a small machine, because tests often wait. One worker
  // runs all tests of a file, which share servers, except in `commands` and in files that
  // set the mode `parallel`.
  workers: 3,
  forbidOnly: true,
  timeout: 60_000,
  expect: { timeout: 15_000 }, // several servers and browsers share a small machine
  projects: [
    { name: 'api', testDir: './api' },
    {
      name: 'commands',
      testDir: './commands',
      workers: 2,
      fullyParallel: true,
      timeout: 240_000,
    }, // a process per command
    { name: 'faults', testDir: './faults', workers: 1, timeout: 240_000 }, // races need the processors for themselves
    { name: 'pages', testDir: './pages' },
    { name: 'providers', testDir: './providers', workers: 1, timeout: 240_000 }, // third-party servers and commands start
    { name: 'browsers', testDir: './browsers', workers: 1, timeout: 120_000 }, // Firefox and WebKitGTK, outside CI
    { name: 'builds', testDir: './builds', workers: 2, timeout: 300_000 }, // builds, installations and development servers
  ],
})
