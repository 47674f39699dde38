import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { registerDecorator, type ValidationArguments } from 'class-validator';
import { HasOutline } from '#platform/http';
import { newId } from '#platform/ids';
import { cutText, isJsonObject, type Outline, RawJson, toRawJson, unknownDetail } from '#platform/json';
import type { ScoreDetail } from './result.entity';

/** Maximum length of a comment, in UTF-16 code units. Longer ones are cut. */
export const COMMENT_MAX = 2_000;
const NAME_MAX = 255;
/** Maximum number of scores of a result. */
export const SCORES_MAX = 100;
const LABEL_MAX = 255;
const VERSION_MAX = 2_147_483_647;

/** Members of a score's metadata that serve as its comment if it has none. The first one wins. */
const COMMENT_MEMBERS = ['comment', 'rationale', 'reasoning', 'reason'] as const;

const SCORE_MEMBERS: readonly string[] = [
  'score',
  'metadata',
  'comment',
  'label',
  'scorer_id',
  'scorer_version',
];

const isNumberLike = (value: unknown): boolean =>
  value === null || typeof value === 'number' || typeof value === 'boolean';

const optional = (value: unknown, fits: (value: unknown) => boolean): boolean =>
  value === undefined || value === null || fits(value);

/** Returns the fault of one score, or null. */
function faultOf(score: unknown): string | null {
  if (isNumberLike(score)) return null;
  if (!isJsonObject(score)) return 'must be a number, a boolean, null, or an object with a score';
  if (!isNumberLike(score.score)) return 'must have a score that is a number, a boolean or null';
  if (!optional(score.metadata, isJsonObject)) return 'must have metadata that is an object';
  if (!optional(score.comment, (value) => typeof value === 'string'))
    return 'must have a comment that is a string';
  if (!optional(score.label, (value) => typeof value === 'string' && value.length <= LABEL_MAX)) {
    return `must have a label that is a string of at most ${LABEL_MAX} characters`;
  }
  if (!optional(score.scorer_id, (value) => typeof value === 'string'))
    return 'must have a scorer_id that is a string';
  if (!optional(score.scorer_version, isVersion)) {
    return `must have a scorer_version that is an integer from 1 to ${VERSION_MAX}`;
  }
  const unknown = Object.keys(score).find((member) => !SCORE_MEMBERS.includes(member));
  return unknown === undefined
    ? null
    : `has \`${unknown.slice(0, 64)}\`, which ${unknownDetail(unknown, SCORE_MEMBERS)}`;
}

const isVersion = (value: unknown): boolean =>
  Number.isInteger(value) && (value as number) >= 1 && (value as number) <= VERSION_MAX;

/** Returns the first fault of a result's scores, or null. */
export function faultOfScores(scores: unknown): string | null {
  if (!isJsonObject(scores)) return 'must be an object that maps scorer names to scores';
  const names = Object.keys(scores);
  if (names.length > SCORES_MAX) return `must have at most ${SCORES_MAX} scores`;
  for (const name of names) {
    if (name.length === 0 || name.length > NAME_MAX) return `must have names of 1 to ${NAME_MAX} characters`;
    const fault = faultOf(scores[name]);
    if (fault) return `${name.slice(0, 64)} ${fault}`;
  }
  return null;
}

const SCORE_FORMS = {
  type: 'object',
  nullable: true,
  description:
    'Maps each scorer name to a number, a boolean (1 or 0), null, or `{score, metadata?, comment?, label?, scorer_id?, scorer_version?}`.',
  additionalProperties: {
    oneOf: [
      { type: 'number' },
      { type: 'boolean' },
      { type: 'null' },
      {
        type: 'object',
        additionalProperties: false,
        required: ['score'],
        properties: {
          score: { type: ['number', 'boolean', 'null'] },
          metadata: { type: ['object', 'null'], additionalProperties: true },
          comment: { type: ['string', 'null'] },
          label: { type: ['string', 'null'], maxLength: LABEL_MAX },
          scorer_id: { type: ['string', 'null'] },
          scorer_version: { type: ['integer', 'null'], minimum: 1, maximum: VERSION_MAX },
        },
      },
    ],
  },
  maxProperties: SCORES_MAX,
} as unknown as ApiPropertyOptions;

/** The metadata of a score is free-form, and its comment is read. */
const SCORES: Outline = {
  kind: 'map',
  of: {
    kind: 'object',
    members: {
      score: { kind: 'scalar' },
      metadata: { kind: 'whole', isFreeForm: true },
      comment: { kind: 'scalar' },
      label: { kind: 'scalar' },
      scorer_id: { kind: 'scalar' },
      scorer_version: { kind: 'scalar' },
    },
    ignored: new Set(),
  },
};

/** Declares a member with scores as a client writes them. */
export const IsScores = (): PropertyDecorator => (target, property) => {
  ApiProperty({ ...SCORE_FORMS, required: false } as ApiPropertyOptions)(target, property);
  HasOutline(SCORES)(target, property);
  registerDecorator({
    name: 'isScores',
    target: target.constructor,
    propertyName: String(property),
    validator: {
      validate: (value: unknown) => faultOfScores(value) === null,
      defaultMessage: ({ value }: ValidationArguments) => faultOfScores(value) ?? '',
    },
  });
};

export interface SplitScores {
  scores: Record<string, number | null>;
  details: Record<string, ScoreDetail>;
}

const NO_SCORES: SplitScores = Object.freeze({ scores: Object.freeze({}), details: Object.freeze({}) });

/** Splits valid scores into numbers (booleans as 1 and 0) and details. */
export function splitScores(values: Record<string, unknown> | null | undefined): SplitScores {
  if (!values) return NO_SCORES;
  const scores: [string, number | null][] = [];
  const details: [string, ScoreDetail][] = [];
  for (const [name, score] of Object.entries(values)) {
    if (isJsonObject(score)) {
      scores.push([name, toNumber(score.score)]);
      const detail = detailOf(score);
      if (Object.keys(detail).length > 0) details.push([name, detail]);
    } else {
      scores.push([name, toNumber(score)]);
    }
  }
  // fromEntries defines members, so that a scorer named __proto__ is like any other.
  return { scores: Object.fromEntries(scores), details: Object.fromEntries(details) };
}

/** A score of a result, as it is stored. */
export interface ScoreRow {
  score_id: string;
  result_id: string;
  result_version: number;
  case_id: string;
  trace_id: string | null;
  session_id: string | null;
  scorer: string;
  /** Null if the score names no version. */
  scorer_version: number | null;
  scorer_id: string | null;
  score: number | null;
  label: string | null;
  comment: string | null;
  metadata: RawJson;
}

type ScoredResult = Pick<ScoreRow, 'result_id' | 'case_id' | 'trace_id' | 'session_id'> & { version: number };

/** Returns the rows of a result's scores. */
export const scoreRowsOf = (
  { result_id, version, case_id, trace_id, session_id }: ScoredResult,
  { scores, details }: SplitScores,
): ScoreRow[] =>
  Object.entries(scores).map(([scorer, score]) => {
    const detail: ScoreDetail = Object.hasOwn(details, scorer) ? details[scorer]! : {};
    return {
      score_id: newId('score'),
      result_id,
      result_version: version,
      case_id,
      trace_id,
      session_id,
      scorer,
      scorer_version: detail.scorer_version ?? null,
      scorer_id: detail.scorer_id ?? null,
      score,
      label: detail.label ?? null,
      comment: detail.comment ?? null,
      metadata: detail.metadata === undefined ? EMPTY_OBJECT : toRawJson(detail.metadata),
    };
  });

const EMPTY_OBJECT = new RawJson('{}');

const toNumber = (score: unknown): number | null =>
  typeof score === 'boolean' ? Number(score) : ((score ?? null) as number | null);

function detailOf({
  metadata,
  comment,
  label,
  scorer_id,
  scorer_version,
}: Record<string, unknown>): ScoreDetail {
  const text = commentOf(comment, metadata);
  return {
    ...(isJsonObject(metadata) && { metadata }),
    ...(text !== null && { comment: text }),
    ...(typeof label === 'string' && { label }),
    ...(typeof scorer_id === 'string' && { scorer_id }),
    ...(typeof scorer_version === 'number' && { scorer_version }),
  };
}

function commentOf(own: unknown, metadata: unknown): string | null {
  if (typeof own === 'string') return cutComment(own);
  if (!isJsonObject(metadata)) return null;
  const member = COMMENT_MEMBERS.find((name) => typeof metadata[name] === 'string');
  // The member `comment` cannot have NUL characters, but metadata can.
  return member ? cutComment((metadata[member] as string).replaceAll('\0', '\uFFFD')) : null;
}

/** Returns the first 2,000 characters of a comment, never half a surrogate pair. */
export const cutComment = (text: string): string => cutText(text, COMMENT_MAX);
