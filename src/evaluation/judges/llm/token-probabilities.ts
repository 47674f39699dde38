import { isJsonObject } from '#platform/json';
import type { Output } from '../../scorers';

interface Alternative {
  /** Bytes of UTF-8, each as one character. */
  text: string;
  probability: number;
}

interface Token extends Alternative {
  alternatives: Alternative[];
}

/**
 * The probabilities of what could have been answered to a `choice` or `boolean`, by the log probabilities of the tokens
 * of a chat completion (`choices[].logprobs.content`, each with `top_logprobs`): what the model thought of each token
 * with which the answer could have begun, up to where the answer is certain. They add up to 1; what is no answer at all
 * is left out of account.
 *
 * @returns undefined where the tokens do not tell: none came, or they are not those of the answer.
 */
export function probabilitiesOf(
  output: Output,
  text: string,
  logprobs: unknown,
): Record<string, number> | undefined {
  const values = valuesOf(output);
  const tokens = readTokens(logprobs);
  if (!values || !tokens) return undefined;
  const said = tokens.map((token) => token.text).join('');
  const at = answerAt(output, said);
  if (at < 0 || !said.includes(bytes(text.trim()))) return undefined;
  const weights = weigh([...values], tokens, at);
  if (!weights) return undefined;
  const total = [...weights.values()].reduce((sum, one) => sum + one, 0);
  if (!(total > 0)) return undefined;
  return Object.fromEntries([...values.keys()].map((value) => [value, (weights.get(value) ?? 0) / total]));
}

/** What may be answered, each as it is written in JSON, without the quotation mark at its beginning. */
function valuesOf(output: Output): Map<string, string> | undefined {
  if (output.type === 'boolean')
    return new Map([
      ['true', 'true'],
      ['false', 'false'],
    ]);
  if (output.type !== 'choice') return undefined;
  return new Map(output.choices.map(({ value }) => [value, bytes(JSON.stringify(value).slice(1))]));
}

/** Where the answer begins, the last such place. Within a JSON string no quotation mark is bare, so it is none of these. */
function answerAt(output: Output, said: string): number {
  const found = [...said.matchAll(output.type === 'choice' ? /"choice"\s*:\s*"/g : /"value"\s*:\s*/g)].at(-1);
  return found ? found.index + found[0].length : -1;
}

/**
 * Follows the tokens of the answer, and gives each value what its tokens weigh.
 *
 * @returns undefined where the answer is written otherwise than the values are, such as with an escape: what is known of
 *   the alternatives alone would say that it was the least likely.
 */
function weigh(
  values: [string, string][],
  tokens: readonly Token[],
  at: number,
): Map<string, number> | undefined {
  const weights = new Map<string, number>();
  const add = (fitting: readonly [string, string][], weight: number): void => {
    for (const [value] of fitting) weights.set(value, (weights.get(value) ?? 0) + weight / fitting.length);
  };
  let start = 0;
  let index = 0;
  while (index < tokens.length && start + tokens[index]!.text.length <= at)
    start += tokens[index++]!.text.length;
  let path = '';
  let reached = 1;
  for (let before = at - start; index < tokens.length; index++, before = 0) {
    const token = tokens[index]!;
    const lead = token.text.slice(0, before);
    const others = token.alternatives.filter((one) => one.text !== token.text && one.text.startsWith(lead));
    for (const other of others) {
      add(fittingOf(values, path + other.text.slice(before)), reached * other.probability);
    }
    path += token.text.slice(before);
    reached *= token.probability;
    const fitting = fittingOf(values, path);
    // no value as it is written begins another, because of the quotation mark at its end
    if (fitting.length === 1) {
      add(fitting, reached);
      return weights;
    }
  }
  return undefined;
}

/** The values that a text begins, or that it begins with. */
function fittingOf(values: readonly [string, string][], text: string): [string, string][] {
  if (text === '') return [];
  return values.filter(([, written]) => written.startsWith(text) || text.startsWith(written));
}

function readTokens(logprobs: unknown): Token[] | undefined {
  const content = isJsonObject(logprobs) ? logprobs.content : undefined;
  if (!Array.isArray(content) || content.length === 0) return undefined;
  const tokens: Token[] = [];
  for (const one of content as unknown[]) {
    const token = readToken(one);
    if (!token) return undefined;
    const top = (one as Record<string, unknown>).top_logprobs;
    const alternatives = Array.isArray(top) ? top.flatMap((other) => readToken(other) ?? []) : [];
    tokens.push({ ...token, alternatives });
  }
  return tokens;
}

function readToken(value: unknown): Alternative | undefined {
  if (!isJsonObject(value)) return undefined;
  const { token, logprob, bytes: codes } = value;
  if (typeof token !== 'string' || typeof logprob !== 'number' || !(logprob <= 1e-6)) return undefined;
  const isBytes = Array.isArray(codes) && codes.every((code) => Number.isInteger(code));
  return {
    text: isBytes ? Buffer.from(codes as number[]).toString('latin1') : bytes(token),
    probability: Math.exp(logprob),
  };
}

const bytes = (text: string): string => Buffer.from(text).toString('latin1');
