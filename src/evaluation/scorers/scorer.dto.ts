import { ApiExtraModels, ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { IsObject, IsOptional, IsString, Length, MaxLength } from 'class-validator';
import {
  AnyJsonObject,
  IsJsonObject,
  IsOneOf,
  IsTags,
  METADATA_MAX_BYTES,
  NotNull,
  ValuesCheckedLater,
} from '#platform/http';
import { NamedListQueryDto, PageMetaDto } from '#platform/paging';
import { DEFINITION, DEFINITIONS } from './definitions/definition.dto';
import { type Grain, GRAINS, SCORER_KINDS, type ScorerKind } from './scorer.entity';

/** A JSON object, whose form is checked by the kind of the scorer (`ScorerDefinitions`). */
const IsDefinition =
  ({ description = '', ...options }: ApiPropertyOptions = {}): PropertyDecorator =>
  (target, property) => {
    IsObject({ message: 'must be an object' })(target, property);
    const documented = { ...DEFINITION, description: `${description}${DEFINITION.description}` };
    ApiProperty({ ...options, ...documented } as ApiPropertyOptions)(target, property);
  };

@ApiExtraModels(...DEFINITIONS)
export class CreateScorerDto {
  /** The workspace that X-Service-Workspace-Id names. */
  @IsString()
  workspace_id!: string;

  /** Unique among the workspace's scorers that are not archived; the name of its scores in results. */
  @IsString()
  @Length(1, 255)
  name!: string;

  @IsOptional()
  @IsString()
  @MaxLength(10_000)
  description?: string | null;

  @IsOneOf(SCORER_KINDS, { description: 'Can never change.' })
  scorer_kind!: ScorerKind;

  /** What one score is about, where a request to score does not say. */
  @IsOptional()
  @IsOneOf(GRAINS, { required: false, default: 'trace' })
  grain?: Grain | null;

  @IsDefinition()
  definition!: object;

  @IsOptional()
  @IsTags()
  tags?: string[] | null;

  @IsOptional()
  @IsJsonObject({ maxBytes: METADATA_MAX_BYTES, description: 'Free-form, at most 16 KiB as JSON.' })
  metadata?: object | null;
}

/** A merge patch (RFC 7396); the definition is replaced whole. A patch that changes something makes a version. */
@ValuesCheckedLater()
export class PatchScorerDto {
  /** Only the present one: a scorer cannot be moved (422). */
  @NotNull()
  @IsString()
  workspace_id?: string;

  /** Only the present one (422 `immutable_field`). */
  @NotNull()
  @IsString()
  scorer_id?: string;

  @NotNull()
  @IsString()
  @Length(1, 255)
  name?: string;

  @IsOptional()
  @IsString()
  @MaxLength(10_000)
  description?: string | null;

  @NotNull()
  @IsOneOf(SCORER_KINDS, { required: false, description: 'Only the present one (422).' })
  scorer_kind?: ScorerKind;

  @NotNull()
  @IsOneOf(GRAINS, { required: false })
  grain?: Grain;

  @NotNull()
  @IsDefinition({ required: false, description: 'Replaced whole. ' })
  definition?: object;

  @IsOptional()
  @IsTags()
  tags?: string[] | null;

  @IsOptional()
  @IsJsonObject({ nullable: true, description: 'Merged into the present metadata; null empties it.' })
  metadata?: object | null;
}

export class ScorerListQueryDto extends NamedListQueryDto {
  /** Words of the name or description; the last letters of each may be missing. */
  @IsOptional()
  @IsString()
  @MaxLength(1000)
  q?: string;

  /** Scorers with this tag. */
  @IsOptional()
  @IsString()
  @Length(1, 255)
  tag?: string;

  @IsOptional()
  @IsOneOf(SCORER_KINDS, { required: false })
  scorer_kind?: ScorerKind;

  @IsOptional()
  @IsOneOf(GRAINS, { required: false })
  grain?: Grain;
}

/** One version of a scorer, as it stays. */
export class ScorerVersionDto {
  scorer_id!: string;
  workspace_id!: string;
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1 })
  scorer_version!: number;
  version_id!: string;
  name!: string;
  description!: string | null;
  @ApiProperty({ enum: [...SCORER_KINDS] })
  scorer_kind!: ScorerKind;
  @ApiProperty({ enum: [...GRAINS] })
  grain!: Grain;
  /** As it was sent, in one of the forms that `CreateScorerDto` takes. */
  @AnyJsonObject()
  definition!: object;
  tags!: string[];
  @AnyJsonObject()
  metadata!: object;
  created_at!: Date;
  created_by!: string;
}

/** How something is scored. */
export class ScorerDto extends ScorerVersionDto {
  updated_at!: Date;
  archived_at!: Date | null;
}

export class ScorerPageDto {
  items!: ScorerDto[];
  page!: PageMetaDto;
}

export class ScorerVersionPageDto {
  items!: ScorerVersionDto[];
  page!: PageMetaDto;
}
