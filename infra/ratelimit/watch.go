package ratelimit

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatchactions"
	"github.com/aws/aws-cdk-go/awscdk/v2/interfaces/interfacesawscloudwatch"
	"github.com/aws/jsii-runtime-go"

	"github.com/slidegate/slidegate/internal/observe/telemetry/metric"
	"github.com/slidegate/slidegate/internal/observe/telemetry/watch"
)

// addAlarms adds the alarms of internal/observe/telemetry/watch.
func addAlarms(r *RateLimit, p Props) {
	r.Alarms = map[string]awscloudwatch.Alarm{}
	settings := watch.Settings{Deadline: p.Deadline, MaxWritesPerDay: p.MaxWritesPerDay, WithoutMetrics: p.WithoutMetrics}
	for _, a := range watch.Alarms(settings) {
		alarm := awscloudwatch.NewAlarm(r, &a.Name, &awscloudwatch.AlarmProps{
			AlarmDescription:  jsii.String(a.Description()),
			Metric:            r.measured("", a.Formula, awscdk.Duration_Seconds(jsii.Number(a.Period.Seconds())), a.Series),
			Threshold:         &a.Threshold,
			DatapointsToAlarm: jsii.Number(a.Bad), EvaluationPeriods: jsii.Number(a.Of),
			TreatMissingData: awscloudwatch.TreatMissingData_NOT_BREACHING,
		})
		if p.AlarmTopic != nil {
			action := awscloudwatchactions.NewSnsAction(p.AlarmTopic)
			alarm.AddAlarmAction(action)
			alarm.AddOkAction(action)
		}
		r.Alarms[a.Name] = alarm
	}
	onAWSAlone(r.Alarms[watch.AccountConcurrency])
}

// onAWSAlone leaves an alarm on a formula out of MiniStack, which refuses the whole
// stack for it. In conditions MiniStack knows no partition.
func onAWSAlone(alarm awscloudwatch.Alarm) {
	stack, id := awscdk.Stack_Of(alarm), jsii.String("SlidegateOnAWS")
	condition, ok := stack.Node().TryFindChild(id).(awscdk.CfnCondition) // of another limiter
	if !ok {
		is := func(partition string) awscdk.ICfnConditionExpression {
			return awscdk.Fn_ConditionEquals(awscdk.Aws_PARTITION(), &partition)
		}
		condition = awscdk.NewCfnCondition(stack, id, &awscdk.CfnConditionProps{
			Expression: awscdk.Fn_ConditionOr(is("aws"), is("aws-cn"), is("aws-us-gov")),
		})
	}
	alarm.Node().DefaultChild().(awscdk.CfnResource).CfnOptions().SetCondition(condition)
}

// addDashboard adds the dashboard of internal/observe/telemetry/watch. Dashboards are of
// the account, so the name has the region.
func addDashboard(r *RateLimit) {
	r.Dashboard = awscloudwatch.NewDashboard(r, jsii.String("Dashboard"), &awscloudwatch.DashboardProps{
		DashboardName: jsii.String(*awscdk.Aws_STACK_NAME() + "-" + r.outputID() + "-" + *awscdk.Aws_REGION()),
	})
	if status := r.alarmStatus(); status != nil {
		r.Dashboard.AddWidgets(status)
	}
	for _, section := range watch.Dashboard {
		r.Dashboard.AddWidgets(awscloudwatch.NewTextWidget(&awscloudwatch.TextWidgetProps{
			Markdown: jsii.String("## " + section.Title), Width: jsii.Number(24), Height: jsii.Number(1),
			Background: awscloudwatch.TextWidgetBackground_TRANSPARENT,
		}))
		var row []awscloudwatch.IWidget
		for _, g := range section.Graphs {
			row = append(row, r.graph(g, 24/len(section.Graphs)))
		}
		r.Dashboard.AddWidgets(row...)
		row = nil
		for _, t := range section.Tables {
			row = append(row, awscloudwatch.NewLogQueryWidget(&awscloudwatch.LogQueryWidgetProps{
				Title: &t.Title, Width: jsii.Number(24 / len(section.Tables)), Height: jsii.Number(6),
				LogGroupNames: jsii.Strings(*r.LogGroup.LogGroupName()), QueryString: jsii.String(fmt.Sprintf(t.Query, r.limiter())),
			}))
		}
		r.Dashboard.AddWidgets(row...)
	}
}

// alarmStatus shows the alarms that each limiter has: a dashboard cannot name one
// that a condition leaves out. Nil if there are none.
func (r *RateLimit) alarmStatus() awscloudwatch.IWidget {
	var shown []interfacesawscloudwatch.IAlarmRef
	for _, name := range slices.Sorted(maps.Keys(r.Alarms)) {
		if name != watch.AccountConcurrency && name != watch.WritesADay {
			shown = append(shown, r.Alarms[name])
		}
	}
	if shown == nil {
		return nil
	}
	return awscloudwatch.NewAlarmStatusWidget(&awscloudwatch.AlarmStatusWidgetProps{
		Title: jsii.String("Alarms"), Alarms: &shown, Width: jsii.Number(24), Height: jsii.Number(3),
	})
}

func (r *RateLimit) graph(g watch.Graph, width int) awscloudwatch.IWidget {
	axis := &awscloudwatch.YAxisProps{Min: jsii.Number(0), ShowUnits: jsii.Bool(false)}
	props := &awscloudwatch.GraphWidgetProps{
		Title: &g.Title, Width: jsii.Number(width), Height: jsii.Number(6),
		Left: r.lines(g.Left), Right: r.lines(g.Right), LeftYAxis: axis, RightYAxis: axis,
	}
	if alarm := r.Alarms[g.Mark]; alarm != nil {
		props.LeftAnnotations = &[]*awscloudwatch.HorizontalAnnotation{alarm.ToAnnotation()}
	}
	return awscloudwatch.NewGraphWidget(props)
}

func (r *RateLimit) lines(lines []watch.Line) *[]awscloudwatch.IMetric {
	all := []awscloudwatch.IMetric{}
	for _, l := range lines {
		first := l.Series[0]
		if first.Stat == watch.Sum && first.Source != watch.Rules {
			l.Formula = cmp.Or(l.Formula, "FILL("+first.ID()+", 0)")
		}
		all = append(all, r.measured(l.Label, l.Formula, awscdk.Duration_Minutes(jsii.Number(1)), l.Series...))
	}
	return &all
}

// measured returns a formula of some series; without one, the only series.
func (r *RateLimit) measured(label, formula string, period awscdk.Duration, series ...watch.Series) awscloudwatch.IMetric {
	if formula == "" {
		return r.series(label, period, series[0])
	}
	using := map[string]awscloudwatch.IMetric{}
	for _, s := range series {
		using[s.ID()] = r.series("", period, s)
	}
	return awscloudwatch.NewMathExpression(&awscloudwatch.MathExpressionProps{
		Expression: &formula, Label: jsii.String(cmp.Or(label, series[0].Metric)), Period: period, UsingMetrics: &using,
	})
}

func (r *RateLimit) series(label string, period awscdk.Duration, s watch.Series) awscloudwatch.IMetric {
	if s.Source == watch.Rules { // those published later too
		return awscloudwatch.NewSearchExpression(&awscloudwatch.SearchExpressionProps{
			Expression: jsii.String(fmt.Sprintf(`SEARCH('{%s,%s,%s} MetricName="%s" %[2]s="%[5]s"', '%[6]s')`,
				metric.Namespace, metric.Limiter, metric.Rule, s.Metric, r.limiter(), s.Stat)),
			Label: jsii.String("${PROP('Dim." + metric.Rule + "')}"), Period: period,
		})
	}
	props := awscloudwatch.MetricProps{MetricName: &s.Metric, Statistic: &s.Stat, Period: period}
	if label != "" { // an alarm with one would be on a formula
		props.Label = &label
	}
	switch s.Source {
	case watch.Limiter:
		props.Namespace, props.DimensionsMap = jsii.String(metric.Namespace), &map[string]*string{metric.Limiter: jsii.String(r.limiter())}
	case watch.Counters:
		props.Namespace, props.DimensionsMap = jsii.String("AWS/DynamoDB"), &map[string]*string{"TableName": r.CountersTable.TableName()}
	case watch.Function:
		props.Namespace, props.DimensionsMap = jsii.String("AWS/Lambda"), &map[string]*string{"FunctionName": r.Function.FunctionName()}
	case watch.Region:
		props.Namespace = jsii.String("AWS/Lambda")
	}
	return awscloudwatch.NewMetric(&props)
}
