import { Controller, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiHeader, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { Throws } from '#platform/problem';
import { CurrentScope, type OrgScope, RequireRoleSomewhere } from '#platform/auth';
import {
  created,
  IfMatch,
  IncomingBody,
  type IncomingRequest,
  type Reply,
  RequestSignal,
  type Versioned,
  versioned,
} from '#platform/http';
import { ListQueryDto, type Page } from '#platform/paging';
import { DeleteRoute, DeletionQueryDto, pathVersion, TakesVersionName } from '../../resources';
import { SkillUploadQueryDto } from './skill.dto';
import { SkillUploadService } from './skill-upload.service';
import {
  CreateSkillVersionDto,
  SkillVersionDetailDto,
  type SkillVersionDto,
  SkillVersionPageDto,
} from './skill-version.dto';
import { SkillService } from './skill.service';
import { TakesSkill, ZIP_MEDIA } from '../upload/skill-upload';

const KIND = 'skill version';

const DOWNLOAD_HEADERS = {
  'Repr-Digest': { description: 'SHA-256 of the complete content (RFC 9530).', schema: { type: 'string' } },
  'Content-Disposition': { description: 'The file name to save under.', schema: { type: 'string' } },
} as const;

@ApiTags('Skills')
@Controller('skill/v1/skills/:skill_id/versions')
export class SkillVersionController {
  constructor(
    private readonly skills: SkillService,
    private readonly uploads: SkillUploadService,
  ) {}

  /**
   * Create a version of a skill
   *
   * @remarks Returns 200 with the newest version if it has the same files. A version replaces the whole skill, even as JSON: `files`, `allowed_tools`, `metadata` and other members that you omit are removed. To change single members, patch the skill.
   */
  @Post()
  @Throws('immutable_field')
  @RequireRoleSomewhere('editor')
  @TakesSkill(CreateSkillVersionDto)
  @ApiHeader({
    name: 'If-Match',
    required: false,
    description: 'The ETag of the skill, not of a version. Returns 412 if the skill has changed since.',
  })
  @ApiCreatedResponse({ type: SkillVersionDetailDto })
  @ApiOkResponse({
    type: SkillVersionDetailDto,
    description: 'The newest version already has the same files.',
  })
  async create(
    @CurrentScope() scope: OrgScope,
    @Param('skill_id') id: string,
    @IncomingBody() body: IncomingRequest,
    @Query() query: SkillUploadQueryDto,
    @RequestSignal() signal: AbortSignal,
    @IfMatch() ifMatch?: string,
  ): Promise<Reply> {
    const { view, isNew } = await this.uploads.addVersion(scope, id, body, query, signal, ifMatch);
    const { version_ordinal: ordinal } = view;
    return isNew
      ? created(`/skill/v1/skills/${id}/versions/${ordinal}`, view, ordinal)
      : versioned(view, ordinal);
  }

  /** List the versions of a skill */
  @Get()
  @RequireRoleSomewhere('viewer', 'runtime')
  @ApiOkResponse({ type: SkillVersionPageDto })
  list(
    @CurrentScope() scope: OrgScope,
    @Param('skill_id') id: string,
    @Query() query: ListQueryDto,
  ): Promise<Page<SkillVersionDto>> {
    return this.skills.listVersions(scope, id, query);
  }

  /** Get a version of a skill with its files */
  @Get(':version_ordinal')
  @TakesVersionName()
  @RequireRoleSomewhere('viewer', 'runtime')
  @ApiOkResponse({ type: SkillVersionDetailDto })
  get(
    @CurrentScope() scope: OrgScope,
    @Param('skill_id') id: string,
    @Param('version_ordinal') version: string,
  ): Promise<Versioned<SkillVersionDetailDto>> {
    return this.skills.getVersion(scope, id, pathVersion(version, KIND));
  }

  /**
   * Delete a version of a skill
   *
   * @remarks Returns 409 for the newest version, and for one with labels. `force=true` also deletes the labels.
   */
  @DeleteRoute(':version_ordinal')
  @TakesVersionName()
  @HttpCode(204)
  delete(
    @CurrentScope() scope: OrgScope,
    @Param('skill_id') id: string,
    @Param('version_ordinal') version: string,
    @Query() { force }: DeletionQueryDto,
    @IfMatch() ifMatch?: string,
  ): Promise<void> {
    return this.skills.deleteVersion(scope, id, pathVersion(version, KIND), { force, ifMatch });
  }

  /** Get the SKILL.md of a version */
  @Get(':version_ordinal/SKILL.md')
  @TakesVersionName()
  @RequireRoleSomewhere('viewer', 'runtime')
  @ApiOkResponse({
    description: 'The file as it was uploaded.',
    content: { 'text/markdown': { schema: { type: 'string' } } },
    headers: DOWNLOAD_HEADERS,
  })
  getSkillMd(
    @CurrentScope() scope: OrgScope,
    @Param('skill_id') id: string,
    @Param('version_ordinal') version: string,
  ): Promise<Reply> {
    return this.skills.getSkillMd(scope, id, pathVersion(version, KIND));
  }

  /** Download the files of a version as a zip archive with SKILL.md at its root */
  @Get(':version_ordinal/skill.zip')
  @TakesVersionName()
  @RequireRoleSomewhere('viewer', 'runtime')
  @ApiOkResponse({
    description:
      'The archive that the discovery index names. The same version always returns the same bytes. A download that fails is aborted.',
    content: { [ZIP_MEDIA]: { schema: { type: 'string', format: 'binary' } } },
    headers: DOWNLOAD_HEADERS,
  })
  getZip(
    @CurrentScope() scope: OrgScope,
    @Param('skill_id') id: string,
    @Param('version_ordinal') version: string,
    @RequestSignal() signal: AbortSignal,
  ): Promise<Reply> {
    return this.skills.getZip(scope, id, pathVersion(version, KIND), signal);
  }

  /** Download the files of a version as a zip archive */
  @Get(':version_ordinal/content')
  @TakesVersionName()
  @RequireRoleSomewhere('viewer', 'runtime')
  @ApiOkResponse({
    description:
      'The files in a directory with the name of the skill. The same version always returns the same bytes. A download that fails is aborted.',
    content: { [ZIP_MEDIA]: { schema: { type: 'string', format: 'binary' } } },
    headers: DOWNLOAD_HEADERS,
  })
  getContent(
    @CurrentScope() scope: OrgScope,
    @Param('skill_id') id: string,
    @Param('version_ordinal') version: string,
  ): Promise<Reply> {
    return this.skills.getContent(scope, id, pathVersion(version, KIND));
  }
}
