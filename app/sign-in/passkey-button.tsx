import { useEffect, useState } from 'react'
import type { Passkey } from './passkey'

/**
 * The button that signs in with a passkey. Loads a separate script, which is needed only
 * with PASSKEYS and in a browser that has them. Otherwise, renders nothing.
 */
export function PasskeyButton(properties: React.ComponentProps<typeof Passkey>) {
  const [Loaded, setLoaded] = useState<typeof Passkey>()

  useEffect(() => {
    if (!window.PublicKeyCredential) return
    import('./passkey').then(
      ({ Passkey }) => setLoaded(() => Passkey),
      () => {}, // the other ways to sign in still work
    )
  }, [])

  return Loaded && <Loaded {...properties} />
}
