import { AxeBuilder } from '@axe-core/playwright'
import type { BrowserContext, Page } from 'playwright/test'

/** With the size of targets (WCAG 2.2 SC 2.5.8), which axe leaves out by default. */
export function axe(page: Page): AxeBuilder {
  return new AxeBuilder({ page }).options({ rules: { 'target-size': { enabled: true } } })
}

/**
 * Collects browser errors of all pages, such as policy violations and failed hydration, except
 * failed requests.
 */
export function complaintsOf(context: BrowserContext): string[] {
  const complaints: string[] = []
  context.on('console', (message) => {
    if (!message.text().startsWith('Failed to load resource')) complaints.push(message.text())
  })
  context.on('weberror', (webError) => complaints.push(webError.error().message))
  return complaints
}
