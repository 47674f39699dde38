import { Body, Controller, Get, Patch } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { CurrentScope, type OrgScope, RequireRoleEverywhere, RequireRoleSomewhere } from '#platform/auth';
import { IfMatch, type Reply, versioned } from '#platform/http';
import { OrgDto, PatchOrgDto } from './org.dto';
import { OrgService } from './org.service';

@ApiTags('Accounts')
@Controller('registry/v1/org')
export class OrgController {
  constructor(private readonly organizations: OrgService) {}

  /** Get the caller's organization */
  @Get()
  @RequireRoleSomewhere('viewer')
  @ApiOkResponse({ type: OrgDto })
  async get(@CurrentScope() scope: OrgScope): Promise<Reply> {
    const { view, version } = await this.organizations.get(scope);
    return versioned(view, version);
  }

  /** Change the caller's organization */
  @Patch()
  @RequireRoleEverywhere('owner')
  @ApiOkResponse({ type: OrgDto })
  async patch(
    @CurrentScope() scope: OrgScope,
    @Body() dto: PatchOrgDto,
    @IfMatch() ifMatch?: string,
  ): Promise<Reply> {
    const { view, version } = await this.organizations.patch(scope, dto, ifMatch);
    return versioned(view, version);
  }
}
