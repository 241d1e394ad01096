/** @type {import('next').NextConfig} The product's settings that affect routes. */
export default {
  poweredByHeader: false,
  agentRules: false,
  compress: false,
  serverExternalPackages: ['bcrypt', 'pg'],
}
