/** @type {import('next').NextConfig} What the product sets, as far as it concerns a route. */
export default {
  poweredByHeader: false,
  agentRules: false,
  compress: false,
  serverExternalPackages: ['bcrypt', 'pg'],
}
