import { applyDecorators } from '@nestjs/common';
import { ApiProperty, PartialType } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayMinSize,
  ArrayUnique,
  IsArray,
  IsBoolean,
  IsObject,
  IsOptional,
  IsString,
  Length,
  Matches,
  MaxLength,
} from 'class-validator';
import {
  IsOneOf,
  Nested,
  NotNull,
  ReadOnlyMembersOf,
  ValuesCheckedLater,
  IsImmutable,
  IsNullableText,
  IsOptionalText,
  IsText,
  IsWholeNumber,
} from '#platform/http';
import { PAGE_SIZE_MAX, PageOf, ToBoolean, ToInteger } from '#platform/paging';
import { IsFilter, ARTIFACT_KINDS, type ArtifactKind, IsDescription, IsName } from '../../resources';
import { PublisherItemDto, StorePolicyDto, StoreReleaseDto } from './store-item.dto';
import { type Action, ACTIONS, CATEGORIES, type Category } from './store-item.entity';

const TEXTS_MAX = 20;
const ORG_IDS_MAX = 1_000;
const HTTPS_URL = /^https:\/\/[^\s\p{Cc}"<>\\^`{|}]+$/u;

/** Declares a list of at most 20 texts. Duplicates are stored once. */
const IsTexts = (description: string) =>
  applyDecorators(
    IsArray(),
    ArrayMaxSize(TEXTS_MAX),
    Length(1, 255, { each: true, message: 'must contain only strings of 1 to 255 characters' }),
    ApiProperty({
      type: 'array',
      items: { type: 'string', minLength: 1, maxLength: 255 },
      maxItems: TEXTS_MAX,
      nullable: true,
      required: false,
      description,
    }),
  );

const IsActions = () =>
  applyDecorators(
    IsOneOf(ACTIONS, { each: true, minItems: 1, maxItems: ACTIONS.length, uniqueItems: true }),
    IsArray(),
    ArrayMinSize(1),
    ArrayUnique({ message: 'must not contain duplicates' }),
    ArrayMaxSize(ACTIONS.length),
  );

/** The version of a resource that is published. */
export class PublishedArtifactDto {
  @IsOneOf(ARTIFACT_KINDS)
  kind!: ArtifactKind;

  /** A resource in the workspace. It must not be archived. */
  @IsText(255)
  artifact_id!: string;

  /** Defaults to the newest version. */
  @IsNullableText(255)
  version_id?: string | null;
}

const AreOrgIds = () =>
  applyDecorators(
    IsArray(),
    ArrayMaxSize(ORG_IDS_MAX),
    Length(1, 255, { each: true, message: 'must contain only strings of 1 to 255 characters' }),
    ApiProperty({
      type: 'array',
      items: { type: 'string', minLength: 1, maxLength: 255 },
      maxItems: ORG_IDS_MAX,
      required: false,
    }),
  );

/** The organizations that see an item, in addition to the publisher's own. */
export class SetStoreAudienceDto {
  /** Whether every organization is admitted. */
  @IsBoolean()
  is_public!: boolean;

  /** The admitted organizations. Duplicates are stored once. */
  @NotNull()
  @AreOrgIds()
  org_ids?: string[];
}

/** The texts of an item. */
class StoreItemTextsDto {
  @IsName()
  name!: string;

  @IsOneOf(CATEGORIES)
  category!: Category;

  /** An SPDX expression, or any other text. */
  @IsName()
  license!: string;

  @IsOptional()
  @IsName()
  tagline?: string | null;

  @IsOptional()
  @IsTexts('Topics for the `topic` filter of the catalogue.')
  topics?: string[] | null;

  @IsOptional()
  @IsTexts('Notable features of the item.')
  highlights?: string[] | null;

  /** An https URL of an image. */
  @IsOptional()
  @IsString()
  @MaxLength(2048)
  @Matches(HTTPS_URL, { message: 'must be an https URL' })
  artwork?: string | null;

  @IsOptional()
  @IsDescription()
  release_notes?: string | null;

  @IsNullableText(64)
  version_label?: string | null;
}

@ReadOnlyMembersOf(() => PublisherItemDto)
@ValuesCheckedLater()
export class CreatePublisherItemDto extends StoreItemTextsDto {
  @IsString()
  workspace_id!: string;

  @Nested(() => PublishedArtifactDto)
  @IsObject()
  artifact!: PublishedArtifactDto;

  /** What others may do with the item. */
  @IsActions()
  actions!: Action[];

  /** Defaults to your own organization only. A new item is not listed and cannot be acquired, whatever its audience. */
  @IsOptional()
  @Nested(() => SetStoreAudienceDto)
  audience?: SetStoreAudienceDto | null;
}

/**
 * The same members as for a new item. Omitted members keep their values, except `version_label` and `release_notes`,
 * which belong to one release. The policy does not change.
 */
@ReadOnlyMembersOf(() => PublisherItemDto)
@ValuesCheckedLater()
export class CreatePublisherItemReleaseDto extends PartialType(StoreItemTextsDto, {
  skipNullProperties: false,
}) {
  @IsImmutable('Must be the current workspace, because an item cannot be moved (422).')
  workspace_id?: string;

  /** Must be the resource of the item (422). Omit it to release the newest version. */
  @NotNull()
  @Nested(() => PublishedArtifactDto)
  @IsObject()
  artifact?: PublishedArtifactDto;

  @NotNull()
  @IsActions()
  actions?: Action[];

  /** Immutable (422 for another value). To change it, replace the policy. */
  @IsOptional()
  @Nested(() => SetStoreAudienceDto)
  audience?: SetStoreAudienceDto | null;
}

/** A merge patch (RFC 7396) of the texts. `topics` and `highlights` are replaced whole, and null empties them. */
@ReadOnlyMembersOf(() => PublisherItemDto)
@ValuesCheckedLater()
export class PatchPublisherItemDto extends PartialType(StoreItemTextsDto, { skipNullProperties: false }) {
  @IsImmutable('Must be the current workspace, because an item cannot be moved (422).')
  workspace_id?: string;

  @IsImmutable()
  store_item_id?: string;
}

/** A complete policy. */
@ReadOnlyMembersOf(() => StorePolicyDto)
export class PublisherItemPolicyDto {
  @Nested(() => SetStoreAudienceDto)
  @IsObject()
  audience!: SetStoreAudienceDto;

  /** Whether the item is in the catalogue of its audience. */
  @IsBoolean()
  is_listed!: boolean;

  /** Whether the audience may acquire and download the item, as far as its `actions` allow. */
  @IsBoolean()
  can_acquire!: boolean;
}

/** A review by the operator of the service. */
export class ReviewStoreItemDto {
  @NotNull()
  @IsBoolean()
  @ApiProperty({ required: false, default: true })
  is_reviewed?: boolean;

  /** The release that was reviewed. Returns 409 if it is not the newest one. */
  @IsOptionalText(255)
  release_id?: string;
}

/** Declares a number whose empty value, as in `?limit=`, is null and means the default. */
const IsOptionalCount = (maximum: number, byDefault: number) =>
  applyDecorators(
    IsOptional(),
    IsWholeNumber({
      required: false,
      nullable: true,
      format: 'int32',
      minimum: 0,
      maximum,
      default: byDefault,
    }),
    ToInteger(),
    Transform(({ value }: { value: unknown }) => (value === '' ? null : value)),
  );

/** The query of the organization's own items. */
export class PublisherItemsQueryDto {
  /**
   * The maximum number of items on a page; 0 returns only the total. A page of large items (several MiB together) may
   * have fewer items. To continue after them, use `offset`.
   */
  @IsOptionalCount(PAGE_SIZE_MAX, 50)
  limit?: number | null;

  /** The number of items to skip, from the newest. A page costs the same at any offset. */
  @IsOptionalCount(2 ** 31 - 1, 0)
  offset?: number | null;

  /** `false` omits the total: it is null. */
  @IsOptional()
  @IsBoolean()
  @ToBoolean()
  @ApiProperty({ required: false, default: true })
  total?: boolean;

  /** Only items with exactly this name. */
  @IsFilter()
  name?: string;
}

export class StoreReleasePageDto extends PageOf(StoreReleaseDto) {}
