/** The header that tells OpenAI's and Anthropic's clients not to retry, because the result would be the same. */
export const NO_RETRY = { 'X-Should-Retry': 'false' };
