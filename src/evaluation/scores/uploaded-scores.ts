import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { registerDecorator, type ValidationArguments } from 'class-validator';
import { KeepsJson } from '#platform/http';
import { newId } from '#platform/ids';
import { cutCharacters, isJsonObject, RawJson, toRawJson, unknownDetail } from '#platform/json';
import type { CurrentScore } from './current-scores.repository';
import type { UploadedScore } from './score.repository';

/** Maximum length of a comment, in characters. Longer ones are cut. */
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

/** Only the metadata of a score is free-form: `/{scorer_name}/metadata`. */
const isMetadata = (path: readonly (string | number)[]): boolean =>
  path.length === 2 && path[1] === 'metadata';

/** Declares a member with scores as a client writes them. */
export const IsScores = (): PropertyDecorator => (target, property) => {
  ApiProperty({ ...SCORE_FORMS, required: false } as ApiPropertyOptions)(target, property);
  KeepsJson({ at: isMetadata })(target, property);
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

/** A score as a client sent it with a result. */
export type SentScore = CurrentScore;

/** Reads valid scores. Booleans become 1 and 0. */
export const readScores = (values: Record<string, unknown> | null | undefined): SentScore[] =>
  Object.entries(values ?? {}).map(([scorer_name, value]) => {
    const { score, metadata, comment, label, scorer_id, scorer_version } = (
      isJsonObject(value) ? value : { score: value }
    ) as Record<string, unknown>;
    return {
      scorer_name,
      score: typeof score === 'boolean' ? Number(score) : ((score ?? null) as number | null),
      label: typeof label === 'string' ? label : null,
      comment: commentOf(comment, metadata),
      metadata: isJsonObject(metadata) ? toRawJson(metadata) : null,
      scorer_id: typeof scorer_id === 'string' ? scorer_id : null,
      scorer_version: typeof scorer_version === 'number' ? scorer_version : null,
    };
  });

const EMPTY_OBJECT = new RawJson('{}');

type ScoredResult = Pick<UploadedScore, 'result_id' | 'case_id' | 'trace_id' | 'session_id'> & {
  version: number;
};

/** Returns the rows of a result's scores. */
export const scoreRowsOf = (
  { result_id, version, case_id, trace_id, session_id }: ScoredResult,
  sent: readonly SentScore[],
): UploadedScore[] =>
  sent.map((score) => ({
    ...score,
    score_id: newId('score'),
    result_id,
    result_version: version,
    case_id,
    trace_id,
    session_id,
    metadata: score.metadata ?? EMPTY_OBJECT,
  }));

function commentOf(own: unknown, metadata: unknown): string | null {
  if (typeof own === 'string') return cutComment(own);
  if (!isJsonObject(metadata)) return null;
  const member = COMMENT_MEMBERS.find((name) => typeof metadata[name] === 'string');
  // The member `comment` cannot have NUL characters, but metadata can.
  return member ? cutComment((metadata[member] as string).replaceAll('\0', '\uFFFD')) : null;
}

/** Returns the first 2,000 characters of a comment. */
export const cutComment = (text: string): string => cutCharacters(text, COMMENT_MAX);
