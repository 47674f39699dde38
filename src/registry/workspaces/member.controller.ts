import { Body, Controller, Delete, Get, HttpCode, Param, Put, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiNoContentResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { Throws } from '#platform/problem';
import { CurrentScope, type OrgScope, RequireRoleSomewhere } from '#platform/auth';
import { created, Reply } from '#platform/http';
import type { Page } from '#platform/paging';
import { MemberDto, MemberListQueryDto, MemberPageDto, PutMemberDto } from './member.dto';
import { MemberService } from './member.service';

@ApiTags('Workspaces')
@Controller('registry/v1/workspaces/:workspace_id/members')
export class MemberController {
  constructor(private readonly members: MemberService) {}

  /** List the members of a workspace */
  @Get()
  @RequireRoleSomewhere('viewer')
  @ApiOkResponse({ type: MemberPageDto })
  list(
    @CurrentScope() scope: OrgScope,
    @Param('workspace_id') workspaceId: string,
    @Query() query: MemberListQueryDto,
  ): Promise<Page<MemberDto>> {
    return this.members.list(scope, workspaceId, query);
  }

  /** Get a member of a workspace */
  @Get(':principal_id')
  @RequireRoleSomewhere('viewer')
  @ApiOkResponse({ type: MemberDto })
  get(
    @CurrentScope() scope: OrgScope,
    @Param('workspace_id') workspaceId: string,
    @Param('principal_id') principalId: string,
  ): Promise<MemberDto> {
    return this.members.get(scope, workspaceId, principalId);
  }

  /** Set the roles of a principal in a workspace */
  @Put(':principal_id')
  @Throws('conflict')
  @RequireRoleSomewhere('admin')
  @ApiOkResponse({ type: MemberDto })
  @ApiCreatedResponse({ type: MemberDto })
  async put(
    @CurrentScope() scope: OrgScope,
    @Param('workspace_id') workspaceId: string,
    @Param('principal_id') principalId: string,
    @Body() dto: PutMemberDto,
  ): Promise<Reply> {
    const { member, isNew } = await this.members.put(scope, workspaceId, principalId, dto);
    const path = `/registry/v1/workspaces/${workspaceId}/members/${encodeURIComponent(principalId)}`;
    return isNew ? created(path, member) : new Reply(200, member);
  }

  /** Remove a member from a workspace */
  @Delete(':principal_id')
  @Throws('conflict')
  @HttpCode(204)
  @RequireRoleSomewhere('admin')
  @ApiNoContentResponse()
  remove(
    @CurrentScope() scope: OrgScope,
    @Param('workspace_id') workspaceId: string,
    @Param('principal_id') principalId: string,
  ): Promise<void> {
    return this.members.remove(scope, workspaceId, principalId);
  }
}
