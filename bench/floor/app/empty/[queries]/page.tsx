import { connection } from 'next/server'
import { pool } from '../../../pool'

/**
 * The least that a page needs: executes as many prepared `SELECT 1` as the path
 * specifies, and shows one paragraph.
 */
export default async function EmptyPage({
  params,
}: {
  params: Promise<{ queries: string }>
}) {
  await connection()
  const { queries } = await params
  for (let sent = 0; sent < Number(queries); sent++)
    await pool.query({ name: 'one', text: 'SELECT 1 AS one' })
  return <p>Empty</p>
}
