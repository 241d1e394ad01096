// Without one of its own, the build would take the product's, which it finds further up.
export function register(): void {}
