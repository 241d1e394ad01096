// A loader of next.config.mjs, for scripts that pages inline. esbuild keeps their syntax as it is.
const { transform } = require('esbuild')

module.exports = async function minifyScript(script) {
  return (await transform(script, { minify: true })).code
}
