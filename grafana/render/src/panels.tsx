// Panel types of the dashboards, drawn with the components of @grafana/ui. Grafana's own panel plugins are part of its
// server and are on no registry: what is drawn here reads the same options, and the heatmap is drawn by hand.
import {
  type Field,
  FieldType,
  type PanelProps,
  PanelPlugin,
  type DataFrame,
  dateTimeFormat,
  getDisplayProcessor,
  getFieldDisplayName,
  getFieldDisplayValues,
  identityOverrideProcessor,
} from '@grafana/data';
import {
  BarGauge,
  BigValue,
  EventsCanvas,
  Table,
  TimeSeries,
  TooltipDisplayMode,
  TooltipPlugin2,
  useTheme2,
  VizRepeater,
  type UPlotConfigBuilder,
} from '@grafana/ui';
import { useCallback, useLayoutEffect, useRef } from 'react';

const NO_DATA = 'No data';

function Empty({ text }: { text?: string }) {
  return <div className="empty">{text || NO_DATA}</div>;
}

function Lines(props: PanelProps<any>) {
  const { data, width, height, options, timeRange, timeZone } = props;
  const frames = data.series.filter((frame) => frame.fields.some((field) => field.type === FieldType.number));
  if (!frames.length) {
    return <Empty text={props.fieldConfig.defaults.noValue} />;
  }
  return (
    <TimeSeries
      frames={frames}
      width={width}
      height={height}
      timeRange={timeRange}
      timeZone={timeZone}
      legend={{ ...options.legend, showLegend: true, calcs: [] }}
      options={options}
      structureRev={data.structureRev}
      tweakScale={(scale) => scale}
    >
      {(config) => (
        <>
          {data.annotations?.map((frame, at) => <Exemplars key={at} frame={frame} config={config} />)}
          <TooltipPlugin2 config={config} hoverMode={0 as any} render={() => null} />
        </>
      )}
    </TimeSeries>
  );
}

function Exemplars({ frame, config }: { frame: DataFrame; config: UPlotConfigBuilder }) {
  const plot = useRef<any>();
  useLayoutEffect(() => {
    config.addHook('init', (u: any) => {
      plot.current = u;
    });
  }, [config]);
  const [time, value] = ['Time', 'Value'].map((name) => frame.fields.find((field) => field.name === name)!);
  const place = useCallback(
    (_: DataFrame, at: { fieldIndex: number }) => {
      const u = plot.current;
      const scale = u && Object.keys(u.scales).find((key) => key !== 'x' && u.scales[key].max != null);
      if (!scale) {
        return undefined;
      }
      const { min, max } = u.scales[scale];
      const y = Math.min(Math.max(value.values[at.fieldIndex], min), max);
      return { x: u.valToPos(time.values[at.fieldIndex], 'x'), y: u.valToPos(y, scale) };
    },
    [time, value],
  );
  const mark = useCallback(() => <div className="exemplar" />, []);
  return (
    <EventsCanvas id="exemplars" config={config} events={[frame]} mapEventToXYCoords={place} renderEventMarker={mark} />
  );
}

function useDisplay(props: PanelProps<any>) {
  return getFieldDisplayValues({
    fieldConfig: props.fieldConfig,
    reduceOptions: props.options.reduceOptions ?? { calcs: ['lastNotNull'], values: false },
    replaceVariables: props.replaceVariables,
    theme: useTheme2(),
    data: props.data.series,
    sparkline: props.options.graphMode !== 'none',
    timeZone: props.timeZone,
  });
}

function Stat(props: PanelProps<any>) {
  const theme = useTheme2();
  const [first] = useDisplay(props);
  const empty = !props.data.series.length;
  const value = empty
    ? { text: props.fieldConfig.defaults.noValue ?? NO_DATA, numeric: NaN, color: theme.colors.text.secondary }
    : { ...first.display, title: '' };
  return (
    <BigValue
      value={value}
      sparkline={empty ? undefined : first.sparkline}
      width={props.width}
      height={props.height}
      colorMode={props.options.colorMode}
      graphMode={props.options.graphMode}
      justifyMode={props.options.justifyMode ?? 'auto'}
      textMode={props.options.textMode}
      theme={theme}
    />
  );
}

function Bars(props: PanelProps<any>) {
  const theme = useTheme2();
  const values = useDisplay(props);
  if (!props.data.series.length) {
    return <Empty text={props.fieldConfig.defaults.noValue} />;
  }
  return (
    <VizRepeater
      getValues={() => values}
      width={props.width}
      height={props.height}
      orientation={props.options.orientation}
      minVizHeight={16}
      source={props.data}
      renderCounter={0}
      itemSpacing={8}
      renderValue={({ value, width, height }) => (
        <BarGauge
          value={value.display}
          field={value.field as any}
          display={value.view?.getFieldDisplayProcessor(value.colIndex!)}
          width={width}
          height={height}
          orientation={props.options.orientation}
          displayMode={props.options.displayMode}
          valueDisplayMode={props.options.valueMode}
          namePlacement={'left' as any}
          showUnfilled={false}
          theme={theme}
          text={{ titleSize: 12, valueSize: 13 }}
        />
      )}
    />
  );
}

function Columns(props: PanelProps<any>) {
  const [frame] = props.data.series;
  if (!frame?.length) {
    return <Empty text={props.fieldConfig.defaults.noValue} />;
  }
  return (
    <Table
      data={frame}
      width={props.width}
      height={props.height}
      initialSortBy={props.options.sortBy}
      cellHeight={props.options.cellHeight}
      timeRange={props.timeRange}
    />
  );
}

const WARM = ['#9e0142', '#d53e4f', '#f46d43', '#fdae61', '#fee08b', '#e6f598', '#abdda4', '#66c2a5', '#3288bd', '#5e4fa2'];

function Heat(props: PanelProps<any>) {
  const theme = useTheme2();
  const { width, height, data } = props;
  const frame = data.series.find((one) => one.fields.length > 2);
  const buckets: Field[] = frame?.fields.filter(({ type }) => type === FieldType.number) ?? [];
  const largest = Math.max(0, ...buckets.flatMap(({ values }) => values as number[]));
  if (!frame || !largest) {
    return <Empty text={props.fieldConfig.defaults.noValue} />;
  }
  const left = 64;
  const bottom = 20;
  const times = frame.fields[0].values as number[];
  const [start, end] = [times[0], times[times.length - 1]];
  const x = (time: number) => left + ((time - start) / (end - start || 1)) * (width - left);
  const cell = (width - left) / times.length;
  const row = (height - bottom - 6) / buckets.length;
  const y = (at: number) => height - bottom - (at + 1) * row;
  const bounds = buckets.map(({ name }) => (name === '+Inf' ? Infinity : Number(name)));
  const shown = getDisplayProcessor({
    theme,
    field: { type: FieldType.number, config: { unit: props.options.yAxis?.unit } },
  });
  const points = data.annotations?.[0];
  const value = points?.fields.find(({ name }) => name === 'Value')?.values ?? [];
  const when = points?.fields.find(({ name }) => name === 'Time')?.values ?? [];
  return (
    <svg width={width} height={height}>
      {buckets.flatMap(({ values }, at) =>
        (values as number[]).map((count, step) =>
          count > 1e-9 ? (
            <rect
              key={`${at}-${step}`}
              x={x(times[step])}
              y={y(at) + 0.5}
              width={Math.max(1, cell - 1)}
              height={Math.max(1, row - 1)}
              fill={WARM[WARM.length - 1 - Math.floor(Math.sqrt(count / largest) * (WARM.length - 1))]}
            />
          ) : null,
        ),
      )}
      {bounds.map((bound, at) =>
        at % 2 ? null : (
          <text key={at} x={left - 6} y={y(at) + 4} textAnchor="end" fontSize={11} fill={theme.colors.text.secondary}>
            {bound === Infinity ? '+Inf' : `${shown(bound).text}${shown(bound).suffix ?? ''}`}
          </text>
        ),
      )}
      {[0.1, 0.5, 0.9].map((part) => (
        <text key={part} x={left + part * (width - left)} y={height - 5} textAnchor="middle" fontSize={11} fill={theme.colors.text.secondary}>
          {dateTimeFormat(start + part * (end - start), { format: 'HH:mm', timeZone: props.timeZone })}
        </text>
      ))}
      {when.map((time: number, at: number) => {
        const bucket = bounds.findIndex((bound) => value[at] <= bound);
        return time < start || time > end ? null : (
          <circle key={at} cx={x(time)} cy={y(bucket) + row / 2} r={2.5} fill="none" stroke={props.options.exemplars?.color} />
        );
      })}
    </svg>
  );
}

const CUSTOM = [
  'drawStyle', 'lineWidth', 'lineInterpolation', 'fillOpacity', 'gradientMode', 'showPoints', 'pointSize', 'stacking',
  'thresholdsStyle', 'axisPlacement', 'axisLabel', 'scaleDistribution', 'spanNulls', 'hideFrom', 'align', 'cellOptions',
  'filterable', 'minWidth', 'width', 'axisSoftMax',
] as const;
const DEFAULTS: Record<string, unknown> = {
  drawStyle: 'line', lineWidth: 1, fillOpacity: 0, showPoints: 'auto', pointSize: 5, axisPlacement: 'auto',
  scaleDistribution: { type: 'linear' }, hideFrom: { viz: false, legend: false, tooltip: false },
  cellOptions: { type: 'auto' }, lineInterpolation: 'linear', gradientMode: 'none', align: 'auto',
};

function plugin(id: string, component: any) {
  const made = new PanelPlugin(component).setDataSupport({ annotations: true, alertStates: false }).useFieldConfig({
    useCustomConfig: (builder) => {
      for (const path of CUSTOM) {
        builder.addCustomEditor({
          id: path, path, name: path, editor: () => null, override: () => null,
          process: identityOverrideProcessor, shouldApply: () => true, settings: {}, defaultValue: DEFAULTS[path],
        } as any);
      }
    },
  });
  made.meta = { id, name: id, type: 'panel', info: { logos: { small: '', large: '' }, version: '' }, sort: 0 } as any;
  return made;
}

/** The panel types, by Grafana's names. */
export const PANELS: Record<string, PanelPlugin> = {
  timeseries: plugin('timeseries', Lines),
  stat: plugin('stat', Stat),
  bargauge: plugin('bargauge', Bars),
  table: plugin('table', Columns),
  heatmap: plugin('heatmap', Heat),
};
