import type { Output } from '../../scorers/definitions/output.answer';
import { answerSchema } from './answer.schema';

/** One message of a chat completion. */
export interface ChatMessage {
  role: 'system' | 'user';
  content: string;
}

/**
 * What a server of chat completions takes. What it does not is learned from its refusals, because no server says it
 * beforehand.
 */
export interface ChatFeatures {
  /** How it is held to JSON. */
  responseFormat: 'json_schema' | 'json_object' | 'none';
  /** Tells the log probabilities of tokens. */
  logprobs: boolean;
  /** How the length of an answer is bounded. */
  maxTokens: 'max_tokens' | 'max_completion_tokens';
  /** Takes another temperature than its own. */
  temperature: boolean;
}

/** What is tried first of a server that is not known. */
export const ALL_FEATURES: ChatFeatures = {
  responseFormat: 'json_schema',
  logprobs: true,
  maxTokens: 'max_tokens',
  temperature: true,
};

/** Alternatives of each token that are asked for: as many as the protocol allows. */
const TOP_LOGPROBS = 20;

/** What a request to a chat model says, whatever the server takes. */
export interface ChatQuestion {
  model: string;
  output: Output;
  withReasoning: boolean;
  /** Absent: the server's own. */
  temperature: number | undefined;
  maxTokens: number;
}

/** The body of a request for a chat completion (OpenAI's `POST /chat/completions`), as JSON text. */
export function chatBody(
  question: ChatQuestion,
  messages: readonly ChatMessage[],
  features: ChatFeatures,
): string {
  const { output } = question;
  const isChoosing = output.type === 'choice' || output.type === 'boolean';
  return JSON.stringify({
    model: question.model,
    messages,
    ...(features.temperature && question.temperature !== undefined && { temperature: question.temperature }),
    [features.maxTokens]: question.maxTokens,
    ...responseFormat(question, features.responseFormat),
    ...(features.logprobs && isChoosing && { logprobs: true, top_logprobs: TOP_LOGPROBS }),
  });
}

function responseFormat(
  { output, withReasoning }: ChatQuestion,
  format: ChatFeatures['responseFormat'],
): { response_format?: object } {
  if (format === 'none') return {};
  if (format === 'json_object') return { response_format: { type: 'json_object' } };
  const schema = answerSchema(output, withReasoning);
  return {
    response_format: { type: 'json_schema', json_schema: { name: 'judgement', strict: true, schema } },
  };
}

/**
 * What to leave out of a request that was refused, by what the refusal names; undefined where it names nothing that
 * could be left out.
 */
export function withoutRefused(features: ChatFeatures, refusal: string): ChatFeatures | undefined {
  if (/max_completion_tokens/.test(refusal) && features.maxTokens === 'max_tokens') {
    return { ...features, maxTokens: 'max_completion_tokens' };
  }
  if (/logprob/i.test(refusal) && features.logprobs) return { ...features, logprobs: false };
  if (/response_format|json_schema|structured.output|guided|grammar/i.test(refusal)) {
    if (features.responseFormat === 'json_schema') return { ...features, responseFormat: 'json_object' };
    if (features.responseFormat === 'json_object') return { ...features, responseFormat: 'none' };
  }
  if (/temperature/.test(refusal) && features.temperature) return { ...features, temperature: false };
  return undefined;
}
