import type { Output } from '../../scorers/definitions/output.answer';
import type { Refusal } from '../calls/judge-endpoint';
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
  /** The scorer asks for this temperature. */
  isTemperatureAskedFor: boolean;
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

/** How a server says that it does not have something, rather than that it is used wrongly. */
const NOT_SUPPORTED =
  /unsupported|(?:not|n't) (?:supported|allowed|permitted|available|accepted)|unrecognized|unknown|unexpected|extra (?:inputs|fields)|use 'max_completion_tokens'/i;
const WRONGLY_USED =
  /invalid schema|schema (?:is )?(?:invalid|too)|enum|must be (?:between|less|greater|at)/i;

/** What a refusal may be about, and what to do without. */
const ASPECTS: { names: RegExp; without: (features: ChatFeatures) => ChatFeatures | undefined }[] = [
  {
    names: /max_tokens|max_completion_tokens/,
    without: (features) =>
      features.maxTokens === 'max_tokens' ? { ...features, maxTokens: 'max_completion_tokens' } : undefined,
  },
  {
    names: /logprob/i,
    without: (features) => (features.logprobs ? { ...features, logprobs: false } : undefined),
  },
  {
    names: /response_format|json_schema|structured.output|guided|grammar/i,
    without: (features) => {
      if (features.responseFormat === 'none') return undefined;
      return {
        ...features,
        responseFormat: features.responseFormat === 'json_schema' ? 'json_object' : 'none',
      };
    },
  },
  {
    names: /temperature/,
    without: (features) => (features.temperature ? { ...features, temperature: false } : undefined),
  },
];

/**
 * What to try a refused request without; undefined where the refusal names nothing that could be left out. A
 * temperature that the scorer asks for is never left out.
 *
 * `isOfServer`: the server does not have it, whoever asks. What else is refused may be this scorer's own doing, a schema
 * that is too large, and is nobody else's concern.
 */
export function withoutRefused(
  features: ChatFeatures,
  { message, parameter, code }: Refusal,
  isTemperatureAskedFor: boolean,
): { features: ChatFeatures; isOfServer: boolean } | undefined {
  const named = parameter || message;
  const isOfServer = NOT_SUPPORTED.test(`${code} ${message}`) && !WRONGLY_USED.test(message);
  for (const { names, without } of ASPECTS) {
    const fewer = names.test(named) ? without(features) : undefined;
    if (!fewer) continue;
    if (isTemperatureAskedFor && fewer.temperature !== features.temperature) return undefined;
    return { features: fewer, isOfServer };
  }
  return undefined;
}
