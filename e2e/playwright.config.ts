import { defineConfig } from 'playwright/test'

export default defineConfig({
  globalSetup: './support/global-setup.ts',
  outputDir: './results/traces',
  reporter: process.env.CI ? [['list']] : [['line']],
  workers: 2, // the tests of a file run in one of them, and share its servers
  forbidOnly: true,
  timeout: 60_000,
  expect: { timeout: 15_000 }, // a reset may have to wait behind twenty resets of another test
  projects: [
    { name: 'api', testDir: './api' },
    { name: 'commands', testDir: './commands', fullyParallel: true, timeout: 240_000 }, // each command is a process
    { name: 'faults', testDir: './faults', workers: 1, timeout: 240_000 }, // races need the processors for themselves
    { name: 'pages', testDir: './pages' },
    { name: 'providers', testDir: './providers', workers: 1, timeout: 240_000 }, // servers of others start, and commands run
    { name: 'builds', testDir: './builds', timeout: 300_000 }, // other builds, installations and development servers
  ],
})
