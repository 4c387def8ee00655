package storetest

import (
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

const hour = time.Hour

func utc(year int, month time.Month, day, hour int) time.Time {
	return time.Date(year, month, day, hour, 0, 0, 0, time.UTC)
}

var calendarTraces = []trace{
	{name: "calendar: a day of 23 hours", limit: zoned(2, limit.Day, "Europe/Berlin", 0),
		start: utc(2024, time.March, 30, 23), moments: []moment{ // midnight of the 31st
			{-1, 2, true, 0, 1, 0, 0},
			{0, 1, true, 1, 23 * hour, 0, 0},
			{0, 2, false, 1, 23 * hour, 23 * hour, 0},
			{22 * hour, 1, true, 0, hour, 0, 0},
			{23*hour - 1, 1, false, 0, 1, 1, 0},
			{23 * hour, 2, true, 0, 24 * hour, 0, 0},
		}},
	{name: "calendar: a day of 25 hours", limit: zoned(1, limit.Day, "Europe/Berlin", 0),
		start: utc(2024, time.October, 26, 22), moments: []moment{ // midnight of the 27th
			{0, 1, true, 0, 25 * hour, 0, 0},
			{24 * hour, 1, false, 0, hour, hour, 0},
			{25*hour - 1, 1, false, 0, 1, 1, 0},
			{25 * hour, 1, true, 0, 24 * hour, 0, 0},
		}},
	{name: "calendar: weeks start on Monday", limit: zoned(1, limit.Week, "Europe/Berlin", 0),
		start: utc(2024, time.October, 20, 22), moments: []moment{ // Monday the 21st; the clocks change on Sunday
			{-1, 1, true, 0, 1, 0, 0},
			{0, 1, true, 0, 169 * hour, 0, 0},
			{169*hour - 1, 1, false, 0, 1, 1, 0},
			{169 * hour, 1, true, 0, 168 * hour, 0, 0},
		}},
	{name: "calendar: months have 28 to 31 days", limit: zoned(1, limit.Month, "UTC", 0),
		start: utc(2023, time.January, 31, 0), moments: []moment{
			{0, 1, true, 0, 24 * hour, 0, 0},
			{24 * hour, 1, true, 0, 28 * 24 * hour, 0, 0},
			{29*24*hour - 1, 1, false, 0, 1, 1, 0},
			{29 * 24 * hour, 1, true, 0, 31 * 24 * hour, 0, 0},
		}},
	{name: "calendar: months that start on the 15th", limit: zoned(3, limit.Month, "America/New_York", 15),
		start: utc(2024, time.February, 15, 5), moments: []moment{ // midnight
			{-1, 3, true, 0, 1, 0, 0},
			{0, 3, true, 0, 29*24*hour - hour, 0, 0}, // the clocks change on 10 March
			{29*24*hour - hour, 3, true, 0, 31 * 24 * hour, 0, 0},
		}},
	{name: "calendar: a day without midnight starts at 23:00 of the day before", limit: zoned(1, limit.Day, "America/Sao_Paulo", 0),
		start: utc(2018, time.November, 3, 3), moments: []moment{ // midnight of the 3rd
			{0, 1, true, 0, 23 * hour, 0, 0},
			{23*hour - 1, 1, false, 0, 1, 1, 0},
			{23 * hour, 1, true, 0, 24 * hour, 0, 0},
		}},
	{name: "calendar: a clock behind is in the newest day", limit: zoned(2, limit.Day, "UTC", 0),
		start: utc(2024, time.May, 1, 0), moments: []moment{
			{0, 1, true, 1, 24 * hour, 0, 0},
			{-sec, 1, true, 0, 24*hour + sec, 0, 0},
			{-sec, 1, false, 0, 24*hour + sec, 24*hour + sec, 0},
		}},
	{name: "calendar: before 1970", limit: zoned(1, limit.Week, "UTC", 0),
		start: utc(1969, time.December, 22, 0), moments: []moment{ // a Monday
			{-1, 1, true, 0, 1, 0, 0},
			{0, 1, true, 0, 168 * hour, 0, 0},
			{168 * hour, 1, true, 0, 168 * hour, 0, 0},
		}},
}
