// A loader of next.config.mjs, for scripts and styles whose text pages use.
const { extname } = require('node:path')
const { transform } = require('esbuild')

module.exports = async function minify(text) {
  const loader = extname(this.resourcePath).slice(1)
  return (await transform(text, { loader, minify: true, target: loader === 'js' ? 'es2020' : undefined })).code
}
