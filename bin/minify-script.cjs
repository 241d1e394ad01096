// A loader of next.config.mjs, for scripts that pages inline.
const { transform } = require('esbuild')

module.exports = async function minifyScript(script) {
  return (await transform(script, { minify: true, target: 'es2020' })).code
}
