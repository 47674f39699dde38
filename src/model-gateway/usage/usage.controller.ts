import { Controller, Get, Query } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { AllowedBy, CurrentScope, type OrgScope, RequireRoleSomewhere } from '#platform/auth';
import { ModelUsagePageDto, ModelUsageQueryDto } from './usage.dto';
import { UsageService } from './usage.service';

@ApiTags('Model gateway')
@Controller('model/v1/usage')
export class ModelUsageController {
  constructor(private readonly usage: UsageService) {}

  /**
   * Get the usage and cost of model calls
   *
   * @remarks Callers who have only the role `runtime`, and keys without the area `read`, see only their own usage.
   */
  @Get()
  @AllowedBy('read', 'models')
  @RequireRoleSomewhere('viewer', 'runtime')
  @ApiOkResponse({ type: ModelUsagePageDto })
  list(@CurrentScope() scope: OrgScope, @Query() query: ModelUsageQueryDto): Promise<ModelUsagePageDto> {
    return this.usage.list(scope, query);
  }
}
