import { createHash } from 'node:crypto';
import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { ArrayMaxSize, IsOptional, IsString, MaxLength } from 'class-validator';
import { NotNull } from '#platform/http';
import { problem } from '#platform/problem';
import type { ScoreBounds } from './trace-scores';

const SCORER_MAX = 255;
const FILTERS_MAX = 10;
const OPERATORS = ['gte', 'lte', 'eq'];
const NUMBER = /^-?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

/** The parameter `sort` of a list that `readScoreSort` reads: one of the `names`, or `score:<scorer>`. */
export const IsScoreSort = (names: readonly string[]) =>
  applyDecorators(
    ApiProperty({ type: 'string', pattern: `^-?(${names.join('|')}|score:.+)$`, required: false }),
    IsOptional(),
    IsString(),
    MaxLength(SCORER_MAX + 10),
  );

/** The parameter `score` of a list, repeatable, which `readScoreFilters` reads. */
export const AreScoreFilters = () =>
  applyDecorators(
    ApiProperty({ type: 'array', items: { type: 'string' }, maxItems: FILTERS_MAX, required: false }),
    NotNull(),
    Transform(({ value }: { value: unknown }) => (typeof value === 'string' ? [value] : value)),
    ArrayMaxSize(FILTERS_MAX),
    IsString({ each: true }),
    MaxLength(SCORER_MAX + 64, { each: true }),
  );

/** The sort of a list by the scores of a scorer, without its direction. */
export interface ScoreSort {
  by: 'score';
  scorer: string;
  /** Identifies the sort in cursors, whose length is limited. */
  key: string;
}

/** Reads the sort of a list, which may have a leading `-`. Errors: 422 for an unknown sort. */
export function readScoreSort<Name extends string>(
  names: readonly Name[],
  text: string,
): { by: Name } | ScoreSort {
  const name = text.replace(/^-/, '');
  const by = names.find((one) => one === name);
  if (by) return { by };
  const scorer = name.startsWith('score:') ? name.slice('score:'.length) : '';
  if (scorer === '') {
    const detail = `must be one of ${[...names, 'score:<scorer>'].join(', ')}, with a leading - for descending order`;
    throw problem.validationFailed([{ parameter: 'sort', detail }]);
  }
  const key = `score:${createHash('sha256').update(scorer).digest('hex').slice(0, 16)}`;
  return { by: 'score', scorer, key };
}

/**
 * Checks the names of the scorers in a sort and in filters. A misspelt name would otherwise give an empty list. Errors: 422.
 *
 * @param unknownAmong returns the names that no scorer has, and no score
 */
export async function checkScorerNames(
  sort: { by: string } | ScoreSort,
  filters: readonly ScoreBounds[],
  unknownAmong: (names: readonly string[]) => Promise<readonly string[]>,
): Promise<void> {
  const named = filters.map(({ scorer }) => ({ parameter: 'score', scorer }));
  if ('scorer' in sort) named.unshift({ parameter: 'sort', scorer: sort.scorer });
  if (named.length === 0) return;
  const unknown = await unknownAmong(named.map(({ scorer }) => scorer));
  const errors = named.flatMap(({ parameter, scorer }) =>
    unknown.includes(scorer) ? [{ parameter, detail: unknownScorerDetail(scorer) }] : [],
  );
  if (errors.length > 0) throw problem.validationFailed(errors);
}

/** What a problem says about a name that no scorer has, and no score. */
export const unknownScorerDetail = (scorer: string): string =>
  `names \`${scorer}\`, which is neither the name of a scorer nor of any score in this workspace`;

/** Reads `score` filters. Errors: 400 `invalid_query` for a malformed filter, 422 for an unknown operator. */
export const readScoreFilters = (texts: readonly string[] = []): ScoreBounds[] =>
  texts.map((text) => {
    // split from the right, because the name of a scorer may contain colons
    const parts = text.split(':');
    const [operator, number] = [parts.at(-2), parts.at(-1)!];
    const scorer = parts.slice(0, -2).join(':');
    const value = NUMBER.test(number) ? Number(number) : NaN;
    if (operator === undefined || scorer === '' || scorer.length > SCORER_MAX || !Number.isFinite(value)) {
      throw problem.invalidQuery('score', 'must be of the form <scorer>:<gte|lte|eq>:<number>');
    }
    if (!OPERATORS.includes(operator)) {
      const detail = `must have one of the operators ${OPERATORS.join(', ')}`;
      throw problem.validationFailed([{ parameter: 'score', detail }]);
    }
    return {
      scorer,
      from: operator === 'lte' ? -Infinity : value,
      to: operator === 'gte' ? Infinity : value,
    };
  });
