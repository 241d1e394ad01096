import pg from 'pg'

/** The same settings as in lib/database/pool.ts. */
export const pool = new pg.Pool({
  connectionString: process.env.DATABASE_URL,
  max: Number(process.env.DATABASE_POOL_SIZE || 10),
  keepAlive: true,
})
