import { readFileSync } from 'node:fs';
import { MEANING_TABLE } from './meaning.table';
import type { MeaningSource, SpanMeaning } from './span-meaning.types';

/** Names of the fields in the documentation. */
const MEANINGS: Record<keyof SpanMeaning, string> = {
  model: 'model',
  provider: 'provider',
  operation: 'operation',
  agentName: 'agent',
  toolName: 'tool',
  inputTokens: 'input tokens',
  outputTokens: 'output tokens',
  cachedInputTokens: 'cached input tokens',
  cacheWriteTokens: 'cache write tokens',
  reasoningTokens: 'reasoning tokens',
  timeToFirstTokenMs: 'time to first token',
  costUsd: 'cost',
  sessionId: 'session',
  serviceName: 'service',
  agentVersion: 'agent version',
  userId: 'user',
  environment: 'environment',
  tags: 'tags',
  promptName: 'prompt name',
  promptVersion: 'prompt version',
  input: 'input',
  output: 'output',
};

const code = (text: string): string => `\`${text}\``;

/** Describes a source as the documentation does. */
function wordsOf(source: MeaningSource): string {
  switch (source.from) {
    case 'attribute': {
      const where = source.where && ` where ${code(source.where.name)} is ${code(source.where.is)}`;
      const after = source.instructions && ` after ${code(source.instructions)}`;
      const unit = source.unit && ' in seconds';
      const member = source.textMember && ` or its text ${code(source.textMember)}`;
      return code(source.name) + (member ?? '') + (where ?? '') + (after ?? '') + (unit ?? '');
    }
    case 'resource':
      return `${code(source.name)} of the resource`;
    case 'flattened':
      return code(`${source.name}.<n>.*`);
    case 'event':
      return `${code(source.name)} of the event ${code(source.event)}`;
    case 'messages': {
      const events = Object.keys(source.roles).map(code).join(', ');
      return source.attribute === undefined
        ? `events ${events}`
        : `events ${events} in ${code(source.attribute)}`;
    }
    case 'presence':
      return `${code(source.value)} if the span has ${code(source.name)}`;
  }
}

/** Returns a row for each run of sources of one convention, so that rows are in the order of preference. */
function rowsOfTable(): string[][] {
  return Object.entries(MEANING_TABLE).flatMap(([field, { sources }]) => {
    const rows: string[][] = [];
    for (const source of sources) {
      const last = rows.at(-1);
      if (last?.[1] === source.convention) last[2] += `; ${wordsOf(source)}`;
      else {
        const meaning = rows.length === 0 ? MEANINGS[field as keyof SpanMeaning] : '';
        rows.push([meaning, source.convention, wordsOf(source)]);
      }
    }
    return rows;
  });
}

function rowsOfDocumentation(): string[][] {
  const section = readFileSync('docs/reference/span-mapping.md', 'utf8').split('\n## Attributes\n')[1]!;
  const rows = section
    .split('\n## ')[0]!
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) =>
      line
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim()),
    );
  return rows.slice(2);
}

describe('MEANING_TABLE', () => {
  it('equals the table in docs/reference/span-mapping.md', () => {
    expect(rowsOfDocumentation()).toEqual(rowsOfTable());
  });

  it('contains each name of a field once', () => {
    for (const { sources } of Object.values(MEANING_TABLE)) {
      const words = sources.map((source) => wordsOf(source));
      expect(new Set(words).size).toBe(words.length);
    }
  });
});
