/** The header of a request for a page that posts the code of its URL from its head. */
export const exchangeHeader = 'x-exchange'
