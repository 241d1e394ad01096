import { getMigrations } from 'better-auth/db/migration'
import { auth } from './auth'
import { pool } from './pool'

const { runMigrations } = await getMigrations(auth.options)
await runMigrations()
await pool.end()
