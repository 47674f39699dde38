export class IntervalDto {
  lower!: number;
  upper!: number;
}
