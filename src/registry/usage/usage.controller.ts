import { Controller, Get } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { CurrentScope, type OrgScope, RequireRoleSomewhere } from '#platform/auth';
import { StorageQuota } from '#platform/storage';
import { endOfDay, SpanQuota, today } from './span-quota';
import { UsageDto } from './usage.dto';

@ApiTags('Accounts')
@Controller('registry/v1/usage')
export class UsageController {
  constructor(
    private readonly storage: StorageQuota,
    private readonly spans: SpanQuota,
  ) {}

  /** Get what the organization uses of its quotas */
  @Get()
  @RequireRoleSomewhere('viewer')
  @ApiOkResponse({ type: UsageDto })
  async get(@CurrentScope() scope: OrgScope): Promise<UsageDto> {
    return {
      file_bytes: { used: await this.storage.used(scope), quota: this.storage.quota },
      spans: {
        used: await this.spans.used(scope.orgId),
        quota: this.spans.quota,
        day: today(),
        resets_at: endOfDay(),
      },
    };
  }
}
