import { expect, test } from 'vitest'
import { readDevice } from './caller'

const userAgents: Record<string, string | null> = {
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0':
    'Firefox on Windows',
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/150.0.0.0 Safari/537.36':
    'Chrome on Linux',
  'Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/150.0.0.0 Safari/537.36 Edg/150.0.0.0':
    'Edge on Windows',
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.0 Safari/605.1.15':
    'Safari on macOS',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.0 Mobile/15E148 Safari/604.1':
    'Safari on iPhone',
  'Mozilla/5.0 (Linux; Android 15; K) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/29.0 Chrome/136.0.0.0 Mobile Safari/537.36':
    'Samsung Internet on Android',
  'curl/8.5.0': null,
  '<script>Windows</script>': 'Windows',
  '': null,
}
for (const [userAgent, device] of Object.entries(userAgents)) {
  test(`${device} is the device name for “${userAgent}”`, () =>
    expect(readDevice(userAgent)).toBe(device))
}

test('only the first 512 characters of a User-Agent header are read', () => {
  expect(readDevice(`${'x'.repeat(512 - 'Windows'.length)}Windows`)).toBe('Windows')
  expect(readDevice(`${'x'.repeat(513 - 'Windows'.length)}Windows`)).toBeNull()
})

test('every possible device name fits in the database column', () => {
  for (const device of Object.values(userAgents))
    if (device) expect(device).toMatch(/^[A-Za-z ]{1,40}$/)
  expect(readDevice(null)).toBeNull()
})
