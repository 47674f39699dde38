import { ApiProperty } from '@nestjs/swagger';
import { IsOptional, IsString, length, registerDecorator } from 'class-validator';
import {
  AnyJsonObject,
  IsJsonObject,
  IsTags,
  METADATA_MAX_BYTES,
  NotNull,
  ReadOnlyMembersOf,
  viewOf,
  IsImmutable,
  IsOptionalText,
  IsText,
} from '#platform/http';
import { isJsonObject } from '#platform/json';
import { PageOf, NamedListQueryDto } from '#platform/paging';
import { AcquiredFromDto, IsDescription, IsMetadataFilter, StampsDto } from '../../../resources';

/** Members that create and PATCH share. */
class DatasetMembersDto {
  @IsOptional()
  @IsDescription()
  description?: string | null;

  @IsOptional()
  @IsTags()
  tags?: string[] | null;
}

@ReadOnlyMembersOf(() => DatasetDto)
export class CreateDatasetDto extends DatasetMembersDto {
  /** The workspace that X-Service-Workspace-Id names. */
  @IsString()
  workspace_id!: string;

  /** Unique among the workspace's datasets that are not archived. */
  @IsText(255)
  name!: string;

  @IsOptional()
  @IsJsonObject({ maxBytes: METADATA_MAX_BYTES, description: 'Free-form, at most 16 KiB as JSON.' })
  metadata?: object | null;

  @IsOptional()
  @IsJsonObject({
    nullable: true,
    description: 'JSON Schema 2020-12 that the `input` of every record must meet.',
  })
  input_schema?: object | null;

  @IsOptional()
  @IsJsonObject({
    nullable: true,
    description: 'JSON Schema 2020-12 that the `expected` of every record must meet.',
  })
  expected_schema?: object | null;
}

/** A merge patch (RFC 7396). The schemas are replaced as a whole. */
@ReadOnlyMembersOf(() => DatasetDto)
export class PatchDatasetDto extends DatasetMembersDto {
  @IsImmutable('Must be the current workspace, because a dataset cannot be moved (422).')
  workspace_id?: string;

  @IsImmutable()
  dataset_id?: string;

  @IsOptionalText(255)
  name?: string;

  @IsOptional()
  @IsJsonObject({ nullable: true, description: 'Merged into the current metadata. Null clears it.' })
  metadata?: object | null;

  @IsOptional()
  @IsJsonObject({ nullable: true, description: 'Applies to records written from now on.' })
  input_schema?: object | null;

  @IsOptional()
  @IsJsonObject({ nullable: true, description: 'Applies to records written from now on.' })
  expected_schema?: object | null;

  /**
   * Promoted experiments: maps the name of an evaluation to the id of its completed experiment over this dataset. Merged
   * into the current baselines; null removes a name.
   */
  @ApiProperty({
    type: 'object',
    additionalProperties: { type: ['string', 'null'] },
    nullable: true,
    required: false,
  } as object)
  @IsOptional()
  @IsBaselines()
  baselines?: Record<string, string | null> | null;
}

/** Maximum number of baselines of a dataset. */
export const BASELINES_MAX = 100;

/** Declares an object that maps names to ids or null. */
function IsBaselines(): PropertyDecorator {
  return (target, property) =>
    registerDecorator({
      name: 'isBaselines',
      target: target.constructor,
      propertyName: String(property),
      validator: {
        validate: (value: unknown) =>
          isJsonObject(value) &&
          Object.entries(value).length <= BASELINES_MAX &&
          Object.entries(value).every(
            ([name, id]) => length(name, 1, 255) && (id === null || typeof id === 'string'),
          ),
        defaultMessage: () =>
          `must be an object that maps at most ${BASELINES_MAX} evaluation names to experiment ids or null`,
      },
    });
}

export class DatasetListQueryDto extends NamedListQueryDto {
  /** Words or word prefixes in the name or description. */
  @IsOptionalText(1000, 0)
  q?: string;

  /** The exact name. */
  @IsOptionalText(255, 0)
  name?: string;

  /** Datasets with this tag. */
  @IsOptionalText(255)
  tag?: string;
}

/** The filters of the list, and filters by `tags` and `metadata`. All must match. */
export class DatasetSearchDto extends DatasetListQueryDto {
  /** The workspace that X-Service-Workspace-Id names. */
  @IsOptionalText()
  workspace_id?: string;

  /** Datasets with all of these tags. */
  @NotNull()
  @IsTags()
  tags?: string[];

  @IsMetadataFilter()
  metadata?: object;
}

/** A named set of cases to evaluate on. */
export class DatasetDto extends StampsDto {
  dataset_id!: string;
  workspace_id!: string;
  name!: string;
  description!: string | null;
  @AnyJsonObject()
  metadata!: object;
  tags!: string[];
  @AnyJsonObject({ nullable: true })
  input_schema!: object | null;
  @AnyJsonObject({ nullable: true })
  expected_schema!: object | null;
  /** Records that are not archived. Does not include rows of CSV versions; see `row_count`. */
  @ApiProperty({ type: 'integer', format: 'int64', minimum: 0 })
  record_count!: number;
  /** Number of rows of the newest CSV version. Null if there is none. */
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 0, maximum: 100_000, nullable: true })
  row_count!: number | null;
  /** Number of the newest CSV version. Null if there is none. */
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1, nullable: true })
  latest_version!: number | null;
  /**
   * Promoted experiments: maps the name of an evaluation to an experiment id. Comparisons and gates of experiments with
   * this name and dataset use the promoted experiment as their baseline, unless they name another one.
   */
  @ApiProperty({ type: 'object', additionalProperties: { type: 'string' } } as object)
  baselines!: Record<string, string>;
  /** The store item and release that the dataset was installed from. Null if it was not acquired from the store. */
  acquired_from!: AcquiredFromDto | null;
}

export class DatasetPageDto extends PageOf(DatasetDto) {}

export const toDatasetDto = viewOf(DatasetDto);
