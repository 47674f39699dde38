import { Body, Controller, Get, HttpCode, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiExtraModels, ApiOkResponse, ApiTags, getSchemaPath } from '@nestjs/swagger';
import { CurrentScope, type OrgScope, RequireRoleSomewhere } from '#platform/auth';
import {
  ApiBodies,
  created,
  IfMatch,
  type Reply,
  RequestBody,
  RequestSignal,
  SpooledBody,
  type SpooledRequest,
  versioned,
} from '#platform/http';
import type { Page } from '#platform/paging';
import {
  CreateSkillDto,
  PatchSkillDto,
  SkillDto,
  SkillListQueryDto,
  SkillPageDto,
  SkillUploadQueryDto,
} from './skill.dto';
import { SkillService } from './skill.service';
import { SkillUploadService } from './skill-upload.service';
import { UPLOAD_MEDIA, uploadLimit } from './upload/skill-upload';
import { uploadBodies } from './upload/upload-bodies';

@ApiTags('Skills')
@Controller('skill/v1/skills')
export class SkillController {
  constructor(
    private readonly skills: SkillService,
    private readonly uploads: SkillUploadService,
  ) {}

  /** Create a skill from its members, or by an upload of its directory */
  @Post()
  @RequireRoleSomewhere('editor')
  @RequestBody({
    kind: 'file',
    media: UPLOAD_MEDIA,
    limit: ({ BODY_LIMIT_BYTES }, media) => uploadLimit(BODY_LIMIT_BYTES, media),
  })
  @ApiExtraModels(CreateSkillDto)
  @ApiBodies(uploadBodies({ $ref: getSchemaPath(CreateSkillDto) }, ['workspace_id']))
  @ApiCreatedResponse({ type: SkillDto })
  async create(
    @CurrentScope() scope: OrgScope,
    @SpooledBody() body: SpooledRequest,
    @Query() query: SkillUploadQueryDto,
    @RequestSignal() signal: AbortSignal,
  ): Promise<Reply> {
    const { view, version } = await this.uploads.create(scope, body, query, signal);
    return created(`/skill/v1/skills/${view.skill_id}`, view, version);
  }

  /** List skills */
  @Get()
  @RequireRoleSomewhere('viewer')
  @ApiOkResponse({ type: SkillPageDto })
  list(@CurrentScope() scope: OrgScope, @Query() query: SkillListQueryDto): Promise<Page<SkillDto>> {
    return this.skills.list(scope, query);
  }

  /** Get a skill */
  @Get(':skill_id')
  @RequireRoleSomewhere('viewer')
  @ApiOkResponse({ type: SkillDto })
  async get(@CurrentScope() scope: OrgScope, @Param('skill_id') id: string): Promise<Reply> {
    const { view, version } = await this.skills.get(scope, id);
    return versioned(view, version);
  }

  /** Change what SKILL.md says, which makes a version */
  @Patch(':skill_id')
  @RequireRoleSomewhere('editor')
  @ApiOkResponse({ type: SkillDto })
  async patch(
    @CurrentScope() scope: OrgScope,
    @Param('skill_id') id: string,
    @Body() dto: PatchSkillDto,
    @IfMatch() ifMatch?: string,
  ): Promise<Reply> {
    const { view, version } = await this.skills.patch(scope, id, dto, ifMatch);
    return versioned(view, version);
  }

  /** Archive a skill */
  @Post(':skill_id/archive')
  @HttpCode(200)
  @RequireRoleSomewhere('admin')
  @ApiOkResponse({ type: SkillDto })
  async archive(
    @CurrentScope() scope: OrgScope,
    @Param('skill_id') id: string,
    @IfMatch() ifMatch?: string,
  ): Promise<Reply> {
    const { view, version } = await this.skills.archive(scope, id, ifMatch);
    return versioned(view, version);
  }
}
