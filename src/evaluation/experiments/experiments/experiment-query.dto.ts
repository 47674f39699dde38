import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import {
  ArrayMaxSize,
  IsNumber,
  IsObject,
  Matches,
  registerDecorator,
  type ValidationArguments,
} from 'class-validator';
import { IsOneOf, IsTags, Nested, NotBelow, NotNull, IsOptionalText, IsText } from '#platform/http';
import { isJsonObject } from '#platform/json';
import { NamedListQueryDto } from '#platform/paging';
import { IsMetadataFilter } from '../../../resources';
import type { ConfigFilter } from './config-pairs';
import {
  EXPERIMENT_STATUSES,
  type ExperimentStatus,
  SUBJECT_KINDS,
  type SubjectKind,
} from './experiment.entity';

const CONFIG_PAIR = /^[^:]+:/;
/** Maximum number of pairs in a `config` filter. */
const CONFIG_PAIRS_MAX = 20;

/** The filters that the list and the search share. */
class ExperimentFiltersDto extends NamedListQueryDto {
  @IsOptionalText()
  dataset_id?: string;

  @NotNull()
  @IsOneOf(SUBJECT_KINDS, { required: false })
  subject_kind?: SubjectKind;

  @IsOptionalText(255, 0)
  subject_id?: string;

  @NotNull()
  @IsOneOf(EXPERIMENT_STATUSES, { required: false })
  experiment_status?: ExperimentStatus;

  @IsOptionalText()
  baseline_experiment_id?: string;

  /** The exact name of the evaluation. */
  @IsOptionalText(255, 0)
  name?: string;

  @IsOptionalText(255, 0)
  run_key?: string;

  @IsOptionalText(255)
  tag?: string;

  /** Words or word prefixes in the names or description. */
  @IsOptionalText(1000, 0)
  q?: string;
}

export class ExperimentListQueryDto extends ExperimentFiltersDto {
  /**
   * The `key:value` of a scalar in the config. The key of a nested member is its path with dots. Numbers may have any form
   * (`lr:1e-5`). Repeatable; all must match.
   */
  @ApiProperty({ type: 'array', items: { type: 'string', pattern: CONFIG_PAIR.source }, required: false })
  @NotNull()
  @Transform(({ value }: { value: unknown }) => (typeof value === 'string' ? [value] : value))
  @ArrayMaxSize(CONFIG_PAIRS_MAX)
  @Matches(CONFIG_PAIR, { each: true, message: 'must be of the form key:value' })
  config?: string[];
}

const isScalar = (value: unknown): boolean => value === null || typeof value !== 'object';

function faultOfConfig(config: unknown): string | null {
  if (!Array.isArray(config) && !isJsonObject(config))
    return 'must be an array of key:value strings, or an object';
  const members = Object.entries(config);
  if (members.length > CONFIG_PAIRS_MAX) return `must have at most ${CONFIG_PAIRS_MAX} members`;
  if (!Array.isArray(config)) {
    return members.every(([key, value]) => key !== '' && isScalar(value))
      ? null
      : 'must have scalar members (string, number, boolean or null); write nested keys as paths with dots';
  }
  return config.every((pair) => typeof pair === 'string' && CONFIG_PAIR.test(pair))
    ? null
    : 'must have elements of the form key:value';
}

/** Declares a filter by config, in either of its forms. */
const IsConfigFilter = (): PropertyDecorator => (target, property) => {
  ApiProperty({
    required: false,
    description:
      'Scalars that the config must contain: `["key:value"]` as in the list, or `{"key": value}`. The key of a nested member is its path with dots.',
    oneOf: [
      { type: 'array', items: { type: 'string', pattern: CONFIG_PAIR.source }, maxItems: CONFIG_PAIRS_MAX },
      {
        type: 'object',
        maxProperties: CONFIG_PAIRS_MAX,
        additionalProperties: {
          oneOf: [{ type: 'string' }, { type: 'number' }, { type: 'boolean' }, { type: 'null' }],
        },
      },
    ],
  } as ApiPropertyOptions)(target, property);
  registerDecorator({
    name: 'isConfigFilter',
    target: target.constructor,
    propertyName: String(property),
    validator: {
      validate: (value: unknown) => faultOfConfig(value) === null,
      defaultMessage: ({ value }: ValidationArguments) => faultOfConfig(value) ?? '',
    },
  });
};

/** Bounds on a scorer's mean in the summary of a finalized experiment. Both are inclusive. */
export class ScoreRangeDto {
  /** The scorer's name in the summary. Only the first 1,000 scorers of a summary are searched. */
  @IsText(255)
  scorer!: string;

  @NotNull()
  @IsNumber()
  gte?: number;

  @NotNull()
  @IsNumber()
  @NotBelow('gte', (value) => (typeof value === 'number' ? value : null))
  lte?: number;
}

/** The filters of the list, and filters by `tags`, `metadata` and `score`. All must match. */
export class ExperimentSearchDto extends ExperimentFiltersDto {
  /** The workspace that X-Service-Workspace-Id names. */
  @IsOptionalText()
  workspace_id?: string;

  @NotNull()
  @IsConfigFilter()
  config?: ConfigFilter;

  /** Experiments with all of these tags. */
  @NotNull()
  @IsTags()
  tags?: string[];

  @IsMetadataFilter()
  metadata?: object;

  /** Finalized experiments whose summary has a mean of this scorer, within the bounds. */
  @NotNull()
  @IsObject()
  @Nested(() => ScoreRangeDto)
  score?: ScoreRangeDto;
}
