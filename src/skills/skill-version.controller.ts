import { Controller, Get, Param, Post, Query } from '@nestjs/common';
import {
  ApiCreatedResponse,
  ApiExtraModels,
  ApiHeader,
  ApiOkResponse,
  ApiTags,
  getSchemaPath,
} from '@nestjs/swagger';
import { CurrentScope, type OrgScope, RequireRoleSomewhere } from '#platform/auth';
import {
  ApiBodies,
  created,
  IfMatch,
  pathNumber,
  type Reply,
  RequestBody,
  RequestSignal,
  SpooledBody,
  type SpooledRequest,
  versioned,
} from '#platform/http';
import { ListQueryDto, type Page } from '#platform/paging';
import { SkillUploadQueryDto } from './skill.dto';
import { SkillUploadService } from './skill-upload.service';
import {
  CreateSkillVersionDto,
  SkillVersionDetailDto,
  type SkillVersionDto,
  SkillVersionPageDto,
} from './skill-version.dto';
import { SkillVersionService } from './skill-version.service';
import { UPLOAD_MEDIA, uploadLimit, ZIP_MEDIA } from './upload/skill-upload';
import { uploadBodies } from './upload/upload-bodies';

const KIND = 'skill version';

@ApiTags('Skills')
@Controller('skill/v1/skills/:skill_id/versions')
export class SkillVersionController {
  constructor(
    private readonly versions: SkillVersionService,
    private readonly uploads: SkillUploadService,
  ) {}

  /**
   * Make a version of a skill: 201 for a new one, 200 with the newest where it holds the same
   *
   * @remarks It replaces all of the skill, also as JSON: files, `allowed_tools`, `metadata` and whatever else is left out are gone. PATCH of the skill changes members one at a time.
   */
  @Post()
  @RequireRoleSomewhere('editor')
  @RequestBody({
    kind: 'file',
    media: UPLOAD_MEDIA,
    limit: ({ BODY_LIMIT_BYTES }, media) => uploadLimit(BODY_LIMIT_BYTES, media),
  })
  @ApiExtraModels(CreateSkillVersionDto)
  @ApiBodies(uploadBodies({ $ref: getSchemaPath(CreateSkillVersionDto) }, []))
  @ApiHeader({
    name: 'If-Match',
    required: false,
    description: 'The ETag of the skill, not of a version; 412 when the skill has changed since.',
  })
  @ApiCreatedResponse({ type: SkillVersionDetailDto })
  @ApiOkResponse({ type: SkillVersionDetailDto, description: 'The newest version holds the same already.' })
  async create(
    @CurrentScope() scope: OrgScope,
    @Param('skill_id') id: string,
    @SpooledBody() body: SpooledRequest,
    @Query() query: SkillUploadQueryDto,
    @RequestSignal() signal: AbortSignal,
    @IfMatch() ifMatch?: string,
  ): Promise<Reply> {
    const { view, isNew } = await this.uploads.createVersion(scope, id, body, query, signal, ifMatch);
    const { version_ordinal: ordinal } = view;
    return isNew
      ? created(`/skill/v1/skills/${id}/versions/${ordinal}`, view, ordinal)
      : versioned(view, ordinal);
  }

  /** List the versions of a skill */
  @Get()
  @RequireRoleSomewhere('viewer')
  @ApiOkResponse({ type: SkillVersionPageDto })
  list(
    @CurrentScope() scope: OrgScope,
    @Param('skill_id') id: string,
    @Query() query: ListQueryDto,
  ): Promise<Page<SkillVersionDto>> {
    return this.versions.list(scope, id, query);
  }

  /** Get a version of a skill, with what its files are */
  @Get(':version_ordinal')
  @RequireRoleSomewhere('viewer')
  @ApiOkResponse({ type: SkillVersionDetailDto })
  async get(
    @CurrentScope() scope: OrgScope,
    @Param('skill_id') id: string,
    @Param('version_ordinal') ordinal: string,
  ): Promise<Reply> {
    const { view, version } = await this.versions.get(scope, id, pathNumber(ordinal, KIND));
    return versioned(view, version);
  }

  /** Get the files of a version, as a zip archive */
  @Get(':version_ordinal/content')
  @RequireRoleSomewhere('viewer')
  @ApiOkResponse({
    description:
      'The files in a directory of the skill’s name: of a version, the same bytes each time. An answer that fails on its way is broken off.',
    content: { [ZIP_MEDIA]: { schema: { type: 'string', format: 'binary' } } },
    headers: {
      'Repr-Digest': { description: 'SHA-256 of the bytes (RFC 9530).', schema: { type: 'string' } },
      'Content-Disposition': { description: 'A name to save it under.', schema: { type: 'string' } },
    },
  })
  getContent(
    @CurrentScope() scope: OrgScope,
    @Param('skill_id') id: string,
    @Param('version_ordinal') ordinal: string,
  ): Promise<Reply> {
    return this.versions.archive(scope, id, pathNumber(ordinal, KIND));
  }
}
