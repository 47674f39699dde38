/** The header that tells the clients of OpenAI and Anthropic not to try again by themselves, because nothing would change. */
export const NO_RETRY = { 'X-Should-Retry': 'false' };
