// Without this file, the build would use the product's instrumentation.ts, which it finds
// in a parent folder.
export function register(): void {}
