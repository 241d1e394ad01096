import { defineConfig } from 'playwright/test'

export default defineConfig({
  globalSetup: './support/global-setup.ts',
  outputDir: './results/traces',
  reporter: process.env.CI ? [['list']] : [['line']],
  workers: 2,
  fullyParallel: true,
  forbidOnly: true,
  timeout: 60_000,
  expect: { timeout: 15_000 }, // a reset may have to wait behind twenty resets of another test
  projects: [
    { name: 'api', testDir: './api' },
    { name: 'commands', testDir: './commands', timeout: 240_000 }, // each command is a process
    { name: 'faults', testDir: './faults', fullyParallel: false, timeout: 240_000 },
    { name: 'pages', testDir: './pages' },
    { name: 'providers', testDir: './providers', timeout: 240_000 }, // servers of others start, and commands run
    { name: 'builds', testDir: './builds', timeout: 300_000 }, // other builds, installations and development servers
  ],
})
