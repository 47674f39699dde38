import { Body, Controller, Get, Param, Put } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { Throws } from '#platform/problem';
import { CurrentScope, type OrgScope, RequireRoleSomewhere } from '#platform/auth';
import { ModelBudgetDto, PutModelBudgetDto } from './budget.dto';
import { BudgetService } from './budget.service';

@ApiTags('Model gateway')
@Controller('model/v1/budgets')
export class ModelBudgetController {
  constructor(private readonly budgets: BudgetService) {}

  /** Get the monthly model budget of a workspace, and the amount spent */
  @Get(':workspace_id')
  @RequireRoleSomewhere('viewer')
  @ApiOkResponse({ type: ModelBudgetDto })
  get(@CurrentScope() scope: OrgScope, @Param('workspace_id') workspaceId: string): Promise<ModelBudgetDto> {
    return this.budgets.get(scope, workspaceId);
  }

  /** Set the monthly model budget of a workspace */
  @Put(':workspace_id')
  @Throws('conflict')
  @RequireRoleSomewhere('admin')
  @ApiOkResponse({ type: ModelBudgetDto })
  put(
    @CurrentScope() scope: OrgScope,
    @Param('workspace_id') workspaceId: string,
    @Body() dto: PutModelBudgetDto,
  ): Promise<ModelBudgetDto> {
    return this.budgets.put(scope, workspaceId, dto.monthly_budget_usd);
  }
}
