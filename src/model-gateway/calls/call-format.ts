import type { ProviderKind } from '../providers/provider.entity';

/** The format of a client's request: OpenAI's chat completions, Responses or embeddings, or Anthropic's messages. */
export const CALL_FORMATS = ['chat', 'responses', 'embeddings', 'messages'] as const;
export type CallFormat = (typeof CALL_FORMATS)[number];

/** The format of the request to each kind of provider, by the client's format. Absent if the provider does not support it. */
const WIRE_FORMATS: Readonly<Record<ProviderKind, Readonly<Partial<Record<CallFormat, CallFormat>>>>> = {
  openai: { chat: 'chat', responses: 'responses', embeddings: 'embeddings', messages: 'chat' },
  anthropic: { chat: 'messages', responses: 'messages', messages: 'messages' },
};

export const wireFormatOf = (kind: ProviderKind, format: CallFormat): CallFormat | undefined =>
  WIRE_FORMATS[kind][format];

/** The path of each format below the base URL of a provider. */
export const WIRE_PATHS: Readonly<Record<CallFormat, string>> = {
  chat: '/chat/completions',
  responses: '/responses',
  embeddings: '/embeddings',
  messages: '/messages',
};
